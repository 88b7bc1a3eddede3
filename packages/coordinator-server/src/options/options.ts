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
import { checkSharedLog, type SharedLogOptions } from '../replica/options.js'
import type { ReplicaObserver } from '../replica/replica.js'

/** The caller's options; all have defaults. */
export interface CoordinatorOptions {
  /** Directory that holds the log. Default `./tenure-data`. */
  readonly dataDir?: string | undefined
  /** Default 127.0.0.1 */
  readonly host?: string | undefined
  /** Default 7411; 0 picks a free port. */
  readonly port?: number | undefined
  /** Default 127.0.0.1 */
  readonly httpHost?: string | undefined
  /** Port for metrics and health. Default 7412; 0 picks a free port; `false` disables it. */
  readonly httpPort?: number | false | undefined
  /** Host names accepted by the HTTP port, besides `httpHost`, loopback names and IP addresses. */
  readonly httpAllowedHosts?: readonly string[] | undefined
  readonly knobs?: Partial<Knobs>
  readonly limits?: Partial<ServerLimits>
  /** When to make checkpoints, and how much history to keep. */
  readonly checkpoints?: Partial<CheckpointKnobs>
  /** Warn the operator when less than this is free on the disk. Default 1 GiB. */
  readonly diskLowBytes?: number | undefined
  readonly tls?: TlsOptions | undefined
  /** Without tokens, every client may use every role. */
  readonly tokens?: readonly Token[] | undefined
  /** Allows listening on other addresses than loopback without TLS and a token. */
  readonly insecure?: boolean | undefined
  readonly log?: LogOptions | undefined
  /** Makes this one of several coordinators. Default: the data directory is the log, and this the only one. */
  readonly sharedLog?: SharedLogOptions | undefined
  readonly observer?: ServerObserver | undefined
  /**
   * Start of the recovery measurement, on the monotonic clock. Default: the call of `startCoordinator`. A
   * process that runs only a coordinator passes 0, its own start.
   */
  readonly recoveringSinceMs?: number | undefined
  /** External inputs, replaced in tests and simulations. The disk is part of the log's options. */
  readonly clock?: Clock | undefined
  readonly transport?: Transport | undefined
  /** Default: a thread, or none when the log uses a custom disk. */
  readonly checkpointMaker?: CheckpointMaker | undefined
  readonly historyReader?: HistoryReader | undefined
}

/** Events for the operator's log. Every hook is optional and must not throw. */
export interface ServerObserver
  extends CoordinatorObserver,
    CheckpointObserver,
    DiskObserver,
    ReplicaObserver {
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
  /** At startup: the clock is this far ahead of the last time in the log, more than a day. */
  clockAhead?(aheadMs: number): void
  /** At startup: the clock is this far behind the last time in the log, a second or more. */
  clockBehind?(behindMs: number): void
  /** The process may open too few files for `connectionsMax`; this lower limit applies. */
  fewerConnections?(connectionsMax: number): void
  /** At startup: parts of the log that were skipped or cut off. */
  recovered?(found: Pick<Recovery, 'badCheckpoints' | 'strandedSegments' | 'tornTail'>): void
}

export interface Started extends RecoveryTimes {
  readonly port: number
  readonly httpPort: number | undefined
  /** Number of times the log was opened, including this one. */
  readonly epoch: number
  /** Number of times a coordinator became ready on this log, not counting the first. */
  readonly restarts: number
  /** LSN of the last record. */
  readonly lastLsn: number
  readonly replayed: number
  readonly tasks: number
}

/** The checked options with their defaults. */
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
  readonly sharedLog: SharedLogOptions | undefined
  readonly observer: ServerObserver
  readonly recoveringSinceMs: number | undefined
  readonly clock: Clock
  readonly transport: Transport | undefined
  readonly checkpointMaker: CheckpointMaker | undefined
  readonly historyReader: HistoryReader | undefined
}

/** Maximum size of a task without its payload: 32 attempts with worker names, a reason, ids. */
const taskOverheadBytes = 64 * 1024

const check = new Checks((message) => new CoordinatorError('COORDINATOR_BAD_OPTION', message))

export function resolveOptions(options: CoordinatorOptions): Settings {
  check.names('options', options, optionNames)
  for (const name of ['knobs', 'limits', 'checkpoints', 'tls', 'log', 'observer'] as const) {
    if (options[name] !== undefined) check.object(name, options[name])
  }
  const knobs = checkKnobs({ ...defaultKnobs, ...options.knobs })
  const limits = checkLimits({ ...defaultLimits, ...options.limits })
  const checkpoints = { ...defaultCheckpointKnobs, ...options.checkpoints }
  check.names('checkpoints', checkpoints, Object.keys(checkpointRanges))
  check.ranges('checkpoints', checkpointRanges, checkpoints)
  const largestBytes = Math.max(knobs.payloadBytesMax, knobs.resultBytesMax) + taskOverheadBytes
  checkAtLeast('limits.frameBytesMax', limits.frameBytesMax, largestBytes)
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
  checkExposure('host', host, insecure || (tls !== undefined && tokens.length > 0))
  checkExposure('httpHost', httpHost, insecure || httpPort === false)
  const { dataDir = './tenure-data', observer = {}, diskLowBytes = 2 ** 30 } = options
  notEmpty('dataDir', dataDir)
  check.whole('diskLowBytes', diskLowBytes, 0, 2 ** 50)
  const { clock = systemClock, transport, checkpointMaker, historyReader } = options
  const { appendBytesMax = Math.max(appendBytesMaxDefault, largestBytes) } = options.log ?? {}
  checkAtLeast('log.appendBytesMax', appendBytesMax, largestBytes)
  const log = { clock, ...options.log, appendBytesMax }
  const { recoveringSinceMs, sharedLog } = options
  if (sharedLog !== undefined) checkSharedLog(check, sharedLog)
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
    sharedLog,
    observer,
    recoveringSinceMs,
    clock,
    transport,
    checkpointMaker,
    historyReader,
  }
}

/**
 * Tasks submitted under a larger limit must still fit into a frame. Otherwise a worker would lease a task
 * that it cannot read, repeatedly, until the task counts as poison.
 */
export function checkFrameLimit({ frameBytesMax }: ServerLimits, largestKept: number): void {
  const least = largestKept + taskOverheadBytes
  if (frameBytesMax >= least) return
  const expected = `at least ${least}, because the log contains a task with ${largestKept} bytes of data`
  throw check.refusal('limits.frameBytesMax', describe(frameBytesMax), expected)
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
  'sharedLog',
  'observer',
  'recoveringSinceMs',
  'clock',
  'transport',
  'checkpointMaker',
  'historyReader',
]

/** A smaller limit than a socket buffer would say nothing about whether a peer reads. */
const unsentBytesMin = 64 * 1024

const appendBytesMaxDefault = 512 * 1024

function checkAtLeast(path: string, bytes: number, least: number): void {
  if (bytes < least)
    throw check.refusal(path, describe(bytes), `at least ${least}, ${minimumReason}`)
}

const minimumReason = "to fit the largest allowed payload or result and the task's other data"

function checkExposure(path: 'host' | 'httpHost', host: string, isAllowed: boolean): void {
  if (isAllowed || isLoopback(host)) return
  const remedy =
    path === 'host'
      ? 'set tls and tokens, or set insecure if this network is trusted'
      : 'this port has neither TLS nor tokens, so set insecure if this network is trusted'
  throw new CoordinatorError(
    'COORDINATOR_EXPOSED',
    `${path} is ${host}, which is reachable from other machines; ${remedy}`,
    { option: path },
  )
}

/** The range of every numeric knob. */
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

/** Error messages never contain a token. */
function checkTokens(tokens: readonly Token[]): void {
  for (const [index, entry] of check.list('tokens', tokens, 'a list').entries()) {
    const path = `tokens[${index}]`
    check.object(path, entry)
    check.text(`${path}.token`, entry.token, 1, messageLimits.tokenBytesMax)
    const given: unknown = entry.roles
    const areRoles = Array.isArray(given) && given.every((role: Role) => roles.includes(role))
    if (areRoles && given.length > 0) continue
    // Does not show the value: if the fields were swapped, it is the token.
    throw check.refusal(
      `${path}.roles`,
      'invalid',
      `a list with one or more of ${roles.join(', ')}`,
    )
  }
}

function notEmpty(path: string, value: unknown): void {
  if (typeof value === 'string' && value !== '') return
  throw check.refusal(path, describe(value), 'a non-empty string')
}

function checkHosts(path: string, hosts: readonly string[]): void {
  for (const [index, host] of check.list(path, hosts, 'a list of host names').entries()) {
    if (typeof host === 'string' && /^[\w.-]+$/.test(host)) continue
    throw check.refusal(`${path}[${index}]`, describe(host), 'a host name without a port')
  }
}

function notNegative(path: string, value: unknown): void {
  if (Number.isFinite(value) && (value as number) >= 0) return
  throw check.refusal(path, describe(value), 'a number, at least 0')
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  const family = isIP(host)
  return family !== 0 && loopback.check(host, family === 4 ? 'ipv4' : 'ipv6')
}
