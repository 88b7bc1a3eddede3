import { BlockList, isIP } from 'node:net'
import type { TlsOptions } from 'node:tls'
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
import type { CoordinatorObserver } from '../core/parts.js'
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

export function settle(options: CoordinatorOptions): Settings {
  object('options', options)
  refuseUnknown('options', options, optionNames)
  for (const name of ['knobs', 'limits', 'checkpoints', 'tls', 'log', 'observer'] as const) {
    if (options[name] !== undefined) object(name, options[name])
  }
  refuseUnknown('limits', options.limits ?? {}, Object.keys(defaultLimits))
  refuseUnknown('checkpoints', options.checkpoints ?? {}, Object.keys(checkpointRanges))
  const knobs = checkKnobs({ ...defaultKnobs, ...options.knobs })
  const limits = { ...defaultLimits, ...options.limits }
  for (const [name, value] of Object.entries(limits)) {
    whole(`limits.${name}`, value, name === 'unsentBytesMax' ? unsentBytesMin : 1, 2 ** 31 - 1)
  }
  const checkpoints = checkRanges('checkpoints', checkpointRanges, {
    ...defaultCheckpointKnobs,
    ...options.checkpoints,
  })
  const largestBytes = Math.max(knobs.payloadBytesMax, knobs.resultBytesMax) + besideBytes
  if (limits.frameBytesMax < largestBytes) {
    throw bad('limits.frameBytesMax', limits.frameBytesMax, roomFor(largestBytes))
  }
  const { host = '127.0.0.1', httpHost = '127.0.0.1', port = 7411, httpPort = 7412 } = options
  text('host', host)
  text('httpHost', httpHost)
  whole('port', port, 0, 65_535)
  if (httpPort !== false) whole('httpPort', httpPort, 0, 65_535)
  const { httpAllowedHosts = [] } = options
  checkHosts('httpAllowedHosts', httpAllowedHosts)
  const { tls, tokens = [], insecure = false } = options
  checkTokens(tokens)
  if (typeof insecure !== 'boolean') throw bad('insecure', insecure, 'true or false')
  refuseExposure('host', host, insecure || (tls !== undefined && tokens.length > 0))
  refuseExposure('httpHost', httpHost, insecure || httpPort === false)
  const { dataDir = './tenure-data', observer = {}, diskLowBytes = 2 ** 30 } = options
  text('dataDir', dataDir)
  whole('diskLowBytes', diskLowBytes, 0, 2 ** 50)
  const { clock = systemClock, transport, checkpointMaker, historyReader } = options
  const { appendBytesMax = Math.max(appendBytesMaxDefault, largestBytes) } = options.log ?? {}
  if (appendBytesMax < largestBytes) {
    throw bad('log.appendBytesMax', appendBytesMax, roomFor(largestBytes))
  }
  const log = { clock, ...options.log, appendBytesMax }
  const listening = { host, port, httpHost, httpPort, httpAllowedHosts, tls, tokens }
  const { recoveringSinceMs } = options
  if (recoveringSinceMs !== undefined) notNegative('recoveringSinceMs', recoveringSinceMs)
  const edges = { clock, transport, checkpointMaker, historyReader }
  return {
    dataDir,
    diskLowBytes,
    ...listening,
    knobs,
    limits,
    checkpoints,
    log,
    observer,
    recoveringSinceMs,
    ...edges,
  }
}

/**
 * Tasks from times of larger limits have to fit in a frame still: a worker would be granted what it
 * cannot read, again and again, until the task is taken for poison.
 */
export function refuseTooSmall({ frameBytesMax }: ServerLimits, largestKept: number): void {
  const bytes = largestKept + besideBytes
  if (frameBytesMax < bytes) throw bad('limits.frameBytesMax', frameBytesMax, roomFor(bytes))
}

const optionNames: readonly (keyof CoordinatorOptions)[] = [
  ...(['dataDir', 'host', 'port', 'httpHost', 'httpPort', 'httpAllowedHosts'] as const),
  ...(['knobs', 'limits', 'checkpoints', 'diskLowBytes', 'tls', 'tokens', 'insecure'] as const),
  ...(['log', 'observer', 'recoveringSinceMs', 'clock', 'transport'] as const),
  ...(['checkpointMaker', 'historyReader'] as const),
]

/** Less than a socket takes at once would say nothing about who reads. */
const unsentBytesMin = 64 * 1024

const appendBytesMaxDefault = 512 * 1024

function roomFor(bytes: number): string {
  return `at least ${bytes}, to hold the largest payload or result, the log's included, and what goes with it`
}

function refuseUnknown(path: string, given: object, known: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (!known.includes(name)) throw bad(`${path}.${name}`, 'given', `one of ${known.join(', ')}`)
  }
}

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
export const knobRanges: {
  readonly [K in Exclude<keyof Knobs, 'retryPolicy'>]: readonly [min: number, max: number]
} = {
  leaseDurationMs: [10, 86_400_000],
  heartbeatIntervalMs: [1, 43_200_000],
  executionWindowMs: [10, 2 ** 45],
  poisonThreshold: [0, 1_000_000],
  payloadBytesMax: [0, 15 * 2 ** 20],
  resultBytesMax: [0, 15 * 2 ** 20],
  waitingTasksMax: [1, 2 ** 31 - 1],
  tasksBytesMax: [1, 2 ** 45],
  retentionMs: [0, 2 ** 45],
  retentionTasks: [0, 2 ** 31 - 1],
  waitMsMax: [0, 3_600_000],
}

function checkKnobs(knobs: Knobs): Knobs {
  refuseUnknown('knobs', knobs, Object.keys(defaultKnobs))
  checkRanges('knobs', knobRanges, knobs)
  if (knobs.heartbeatIntervalMs * 2 > knobs.leaseDurationMs) {
    const most = `at most half of knobs.leaseDurationMs: ${knobs.leaseDurationMs / 2} ms`
    throw bad('knobs.heartbeatIntervalMs', `${knobs.heartbeatIntervalMs} ms`, most)
  }
  const { retryPolicy } = knobs
  object('knobs.retryPolicy', retryPolicy)
  const { maxRetries, backoff } = retryPolicy
  object('knobs.retryPolicy.backoff', backoff)
  whole('knobs.retryPolicy.maxRetries', maxRetries, 0, 2 ** 31 - 1)
  if (backoff.kind === 'fixed') {
    whole('knobs.retryPolicy.backoff.delayMs', backoff.delayMs, 0, 2 ** 45)
  } else if (backoff.kind === 'exponential') {
    whole('knobs.retryPolicy.backoff.initialMs', backoff.initialMs, 0, 2 ** 45)
    whole('knobs.retryPolicy.backoff.maxMs', backoff.maxMs, 0, 2 ** 45)
  } else {
    const { kind } = backoff as { kind: unknown }
    throw bad('knobs.retryPolicy.backoff.kind', kind, 'fixed or exponential')
  }
  return knobs
}

function checkRanges<T extends object>(
  path: string,
  ranges: Readonly<Record<string, readonly [min: number, max: number]>>,
  values: T,
): T {
  for (const [name, [min, max]] of Object.entries(ranges)) {
    whole(`${path}.${name}`, values[name as keyof T], min, max)
  }
  return values
}

/** A message never holds a token. */
function checkTokens(tokens: readonly Token[]): void {
  if (!Array.isArray(tokens)) throw bad('tokens', typeof tokens, 'a list')
  for (const [index, entry] of tokens.entries()) {
    const path = `tokens[${index}]`
    object(path, entry)
    const { token, roles: given } = entry as Token
    if (typeof token !== 'string') throw bad(`${path}.token`, typeof token, 'a string')
    const bytes = Buffer.byteLength(token)
    if (bytes === 0 || bytes > messageLimits.tokenBytesMax) {
      const range = `from 1 to ${messageLimits.tokenBytesMax} bytes long`
      throw bad(`${path}.token`, `${bytes} bytes long`, range)
    }
    const areRoles = Array.isArray(given) && given.every((role: Role) => roles.includes(role))
    if (!areRoles || given.length === 0) {
      // Where the two were exchanged it is the token.
      throw bad(`${path}.roles`, 'something else', `a list of ${roles.join(', ')}`)
    }
  }
}

function object(path: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  // By its kind only: in the place of tls it might be a key.
  throw bad(path, typeof value === 'object' ? value : `a ${typeof value}`, 'an object')
}

function text(path: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw bad(path, value, 'a text that is not empty')
}

function checkHosts(path: string, hosts: readonly string[]): void {
  if (!Array.isArray(hosts)) throw bad(path, hosts, 'a list of host names')
  for (const [index, host] of hosts.entries()) {
    if (typeof host === 'string' && /^[\w.-]+$/.test(host)) continue
    throw bad(`${path}[${index}]`, JSON.stringify(host), 'a host name without a port')
  }
}

function whole(path: string, value: unknown, min: number, max: number): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return
  throw bad(path, value, `a whole number from ${min} to ${max}`)
}

function notNegative(path: string, value: unknown): void {
  if (Number.isFinite(value) && (value as number) >= 0) return
  throw bad(path, value, 'a number from 0')
}

function bad(path: string, got: unknown, expected: string): CoordinatorError {
  return new CoordinatorError(
    'COORDINATOR_BAD_OPTION',
    `${path} is ${describe(got)}; it must be ${expected}`,
  )
}

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  const family = isIP(host)
  return family !== 0 && loopback.check(host, family === 4 ? 'ipv4' : 'ipv6')
}
