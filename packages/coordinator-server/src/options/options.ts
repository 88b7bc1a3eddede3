import { BlockList, isIP } from 'node:net'
import type { TlsOptions } from 'node:tls'
import {
  Checks,
  checkRetryPolicy,
  describe,
  largestCount,
  longestMs,
  type Range,
} from '@tenure/options'
import { messageLimits, type Role, roles } from '@tenure/protocol'
import { type Clock, systemClock } from '@tenure/seams'
import type { LogOptions, Recovery } from '@tenure/wal'
import {
  type CheckpointKnobs,
  checkpointRanges,
  defaultCheckpointKnobs,
} from '../checkpoints/checkpoint-knobs.js'
import type { CheckpointMaker } from '../checkpoints/checkpoint-maker.js'
import type { CheckpointObserver } from '../checkpoints/checkpointer.js'
import type { CoordinatorObserver } from '../core/coordinator-parts.js'
import { defaultKnobs, type Knobs } from '../decide/knobs.js'
import { CoordinatorError } from '../errors.js'
import type { HistoryReader } from '../history/history-page.js'
import type { Token } from '../net/gate.js'
import { defaultLimits, type ServerLimits } from '../net/limits.js'
import type { Transport } from '../net/transport.js'
import type { DiskObserver } from '../observe/disk-watch.js'
import type { RecoveryTimes } from '../observe/startup.js'

/** What the user gives; all of it has defaults. */
export interface CoordinatorOptions {
  /** Where the log is kept. Default `./tenure-data`. */
  readonly dataDir?: string | undefined
  /** Default 127.0.0.1 */
  readonly host?: string | undefined
  /** Default 7411; 0 takes a free one. */
  readonly port?: number | undefined
  /** Default 127.0.0.1 */
  readonly httpHost?: string | undefined
  /** For metrics and health. Default 7412; 0 takes a free one; `false` serves none. */
  readonly httpPort?: number | false | undefined
  /** Names under which the HTTP port is reached, beside `httpHost`, loopback names and IP addresses. */
  readonly httpAllowedHosts?: readonly string[] | undefined
  readonly knobs?: Partial<Knobs>
  readonly limits?: Partial<ServerLimits>
  /** When checkpoints are made, and how much history is kept beside them. */
  readonly checkpoints?: Partial<CheckpointKnobs>
  /** With less room on the disk than this the operator is told. Default 1 GiB. */
  readonly diskLowBytes?: number | undefined
  readonly tls?: TlsOptions | undefined
  /** Without one everybody who can connect may do everything. */
  readonly tokens?: readonly Token[] | undefined
  /** Listens beyond this machine without TLS and a token. */
  readonly insecure?: boolean | undefined
  readonly log?: LogOptions | undefined
  readonly observer?: ServerObserver | undefined
  /**
   * Since when the recovery is measured, on the monotonic clock. Default: the call of `startCoordinator`. A process that is
   * nothing but a coordinator gives 0, when it began.
   */
  readonly recoveringSinceMs?: number | undefined
  /** The edges to the world, for tests and simulations; the disk is among the options of the log. */
  readonly clock?: Clock | undefined
  readonly transport?: Transport | undefined
  /** Without one a log on another disk than the machine's gets no checkpoints. */
  readonly checkpointMaker?: CheckpointMaker | undefined
  readonly historyReader?: HistoryReader | undefined
}

/** What a server tells, for its operator's log. Every hook is optional; none may throw. */
export interface ServerObserver extends CoordinatorObserver, CheckpointObserver, DiskObserver {
  replaying?(progress: {
    readonly applied: number
    readonly total: number
    readonly ms: number
  }): void
  started?(start: Started): void
  refused?(refusal: {
    readonly address: string
    readonly reason: string
    readonly message: string
  }): void
  failed?(error: unknown): void
  /** At the start: the clock is this far ahead of the last time in the log, which is more than a day. */
  clockAhead?(aheadMs: number): void
  /** At the start: the last time in the log is this far ahead of the clock, which is a second or more. */
  clockBehind?(behindMs: number): void
  /** The system gives this process fewer descriptors than `connectionsMax`: so many are let in. */
  fewerConnections?(connectionsMax: number): void
  /** At the start, of a log that opens: what it had to do without, or has cut off. */
  recovered?(found: Pick<Recovery, 'badCheckpoints' | 'strandedSegments' | 'tornTail'>): void
}

export interface Started extends RecoveryTimes {
  readonly port: number
  readonly httpPort: number | undefined
  /** How often the log was opened, this time included. */
  readonly epoch: number
  /** How often a coordinator has become ready on this log, not counting the first time. */
  readonly restarts: number
  /** The LSN of the last record, and how many records were read behind the newest checkpoint. */
  readonly lastLsn: number
  readonly replayed: number
  readonly tasks: number
}

/** The options with their defaults, checked. */
export interface Settings {
  readonly dataDir: string
  readonly host: string
  readonly port: number
  readonly httpHost: string
  readonly httpPort: number | false
  readonly httpAllowedHosts: readonly string[]
  readonly knobs: Knobs
  readonly limits: ServerLimits
  readonly checkpoints: CheckpointKnobs
  readonly diskLowBytes: number
  readonly tls: TlsOptions | undefined
  readonly tokens: readonly Token[]
  readonly log: LogOptions
  readonly observer: ServerObserver
  readonly recoveringSinceMs: number | undefined
  readonly clock: Clock
  readonly transport: Transport | undefined
  readonly checkpointMaker: CheckpointMaker | undefined
  readonly historyReader: HistoryReader | undefined
}

/** What a task can be beside its payload: 32 attempts with their names, a reason, ids. */
const besideBytes = 64 * 1024

const check = new Checks((message) => new CoordinatorError('COORDINATOR_BAD_OPTION', message))

export function settle(options: CoordinatorOptions): Settings {
  check.names('options', options, optionNames)
  for (const name of ['knobs', 'limits', 'checkpoints', 'tls', 'log', 'observer'] as const) {
    if (options[name] !== undefined) check.object(name, options[name])
  }
  const knobs = checkKnobs({ ...defaultKnobs, ...options.knobs })
  const limits = checkLimits({ ...defaultLimits, ...options.limits })
  const checkpoints = { ...defaultCheckpointKnobs, ...options.checkpoints }
  check.names('checkpoints', checkpoints, Object.keys(checkpointRanges))
  check.ranges('checkpoints', checkpointRanges, checkpoints)
  const largestBytes = Math.max(knobs.payloadBytesMax, knobs.resultBytesMax) + besideBytes
  refuseTooFew('limits.frameBytesMax', limits.frameBytesMax, largestBytes)
  const { host = '127.0.0.1', httpHost = '127.0.0.1', port = 7411, httpPort = 7412 } = options
  notEmpty('host', host)
  notEmpty('httpHost', httpHost)
  check.whole('port', port, 0, 65_535)
  if (httpPort !== false) check.whole('httpPort', httpPort, 0, 65_535)
  const { httpAllowedHosts = [] } = options
  checkHosts('httpAllowedHosts', httpAllowedHosts)
  const { tls, tokens = [], insecure = false } = options
  checkTokens(tokens)
  check.boolean('insecure', insecure)
  refuseExposure('host', host, insecure || (tls !== undefined && tokens.length > 0))
  refuseExposure('httpHost', httpHost, insecure || httpPort === false)
  const { dataDir = './tenure-data', observer = {}, diskLowBytes = 2 ** 30 } = options
  notEmpty('dataDir', dataDir)
  check.whole('diskLowBytes', diskLowBytes, 0, 2 ** 50)
  const { clock = systemClock, transport, checkpointMaker, historyReader } = options
  const { appendBytesMax = Math.max(appendBytesMaxDefault, largestBytes) } = options.log ?? {}
  refuseTooFew('log.appendBytesMax', appendBytesMax, largestBytes)
  const log = { clock, ...options.log, appendBytesMax }
  const { recoveringSinceMs } = options
  if (recoveringSinceMs !== undefined) notNegative('recoveringSinceMs', recoveringSinceMs)
  return {
    dataDir,
    diskLowBytes,
    host,
    port,
    httpHost,
    httpPort,
    httpAllowedHosts,
    tls,
    tokens,
    knobs,
    limits,
    checkpoints,
    log,
    observer,
    recoveringSinceMs,
    clock,
    transport,
    checkpointMaker,
    historyReader,
  }
}

/**
 * Tasks from times of larger limits have to fit in a frame still: a worker would be granted what it
 * cannot read, again and again, until the task is taken for poison.
 */
export function refuseTooSmall({ frameBytesMax }: ServerLimits, largestKept: number): void {
  refuseTooFew('limits.frameBytesMax', frameBytesMax, largestKept + besideBytes)
}

const optionNames: readonly (keyof CoordinatorOptions)[] = [
  'dataDir',
  'host',
  'port',
  'httpHost',
  'httpPort',
  'httpAllowedHosts',
  'knobs',
  'limits',
  'checkpoints',
  'diskLowBytes',
  'tls',
  'tokens',
  'insecure',
  'log',
  'observer',
  'recoveringSinceMs',
  'clock',
  'transport',
  'checkpointMaker',
  'historyReader',
]

/** Less than a socket takes at once would say nothing about who reads. */
const unsentBytesMin = 64 * 1024

const appendBytesMaxDefault = 512 * 1024

function refuseTooFew(path: string, bytes: number, least: number): void {
  if (bytes < least) throw check.refusal(path, describe(bytes), `at least ${least}, ${whatFor}`)
}

const whatFor = "to hold the largest payload or result, the log's included, and what goes with it"

function refuseExposure(path: string, host: string, isMeant: boolean): void {
  if (isMeant || isLoopback(host)) return
  const wayOut =
    path === 'host'
      ? 'give tls and tokens, or set insecure'
      : 'it has neither TLS nor a token: set insecure'
  throw new CoordinatorError(
    'COORDINATOR_EXPOSED',
    `${path} is ${host}, which others can reach; ${wayOut} to say that this network is trusted`,
  )
}

/** The range of every knob that is a number. */
export const knobRanges: { readonly [K in Exclude<keyof Knobs, 'retryPolicy'>]: Range } = {
  leaseDurationMs: [10, 86_400_000],
  heartbeatIntervalMs: [1, 43_200_000],
  executionWindowMs: [10, longestMs],
  poisonThreshold: [0, 1_000_000],
  payloadBytesMax: [0, 15 * 2 ** 20],
  resultBytesMax: [0, 15 * 2 ** 20],
  waitingTasksMax: [1, largestCount],
  tasksBytesMax: [1, 2 ** 45],
  retentionMs: [0, longestMs],
  retentionTasks: [0, largestCount],
  waitMsMax: [0, 3_600_000],
}

function checkKnobs(knobs: Knobs): Knobs {
  check.names('knobs', knobs, Object.keys(defaultKnobs))
  check.ranges('knobs', knobRanges, knobs)
  checkRetryPolicy(check, 'knobs.retryPolicy', knobs.retryPolicy)
  const { heartbeatIntervalMs, leaseDurationMs } = knobs
  if (heartbeatIntervalMs * 2 <= leaseDurationMs) return knobs
  const most = `at most half of knobs.leaseDurationMs: ${leaseDurationMs / 2} ms`
  throw check.refusal('knobs.heartbeatIntervalMs', `${heartbeatIntervalMs} ms`, most)
}

function checkLimits(limits: ServerLimits): ServerLimits {
  check.names('limits', limits, Object.keys(defaultLimits))
  for (const [name, value] of Object.entries(limits)) {
    const min = name === 'unsentBytesMax' ? unsentBytesMin : 1
    check.whole(`limits.${name}`, value, min, largestCount)
  }
  return limits
}

/** A message never holds a token. */
function checkTokens(tokens: readonly Token[]): void {
  for (const [index, entry] of check.list('tokens', tokens, 'a list').entries()) {
    const path = `tokens[${index}]`
    check.object(path, entry)
    check.text(`${path}.token`, entry.token, 1, messageLimits.tokenBytesMax)
    const given: unknown = entry.roles
    const areRoles = Array.isArray(given) && given.every((role: Role) => roles.includes(role))
    if (areRoles && given.length > 0) continue
    // Where the two were exchanged it is the token.
    throw check.refusal(`${path}.roles`, 'something else', `a list of ${roles.join(', ')}`)
  }
}

function notEmpty(path: string, value: unknown): void {
  if (typeof value === 'string' && value !== '') return
  throw check.refusal(path, describe(value), 'a text that is not empty')
}

function checkHosts(path: string, hosts: readonly string[]): void {
  for (const [index, host] of check.list(path, hosts, 'a list of host names').entries()) {
    if (typeof host === 'string' && /^[\w.-]+$/.test(host)) continue
    throw check.refusal(`${path}[${index}]`, describe(host), 'a host name without a port')
  }
}

function notNegative(path: string, value: unknown): void {
  if (Number.isFinite(value) && (value as number) >= 0) return
  throw check.refusal(path, describe(value), 'a number from 0')
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  const family = isIP(host)
  return family !== 0 && loopback.check(host, family === 4 ? 'ipv4' : 'ipv6')
}
