import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type LinkOptions, systemRandom } from '@tenure/client'
import { type Cancelled, messageLimits } from '@tenure/protocol'
import { badOption } from './errors.js'
import type { Handler } from './handler.js'
import { HostPool } from './isolation/host-pool.js'
import type { StartHost } from './isolation/host-seat.js'
import { InlineIsolation } from './isolation/inline.js'
import type { Isolation } from './isolation/isolation.js'
import { loadHandler } from './isolation/load-handler.js'
import { startProcess } from './isolation/process-host.js'
import { startThread } from './isolation/thread-host.js'
import { hookNames, type WorkerObserver } from './observer.js'
import { systemWallClock } from './system-wall-clock.js'
import type { TaskFacts } from './task-facts.js'

/** Where handlers run, in words. */
export const isolations = ['thread', 'process', 'inline'] as const
export type IsolationKind = (typeof isolations)[number]

export interface WorkerOptions
  extends Omit<LinkOptions, 'role' | 'capacity' | 'connectTimeoutMs' | 'observer'> {
  /** The module whose default export runs the tasks: a path or a file URL. `inline` takes the function, too. */
  readonly handler?: string | URL | Handler
  /** Default `thread`. An object is an isolation of your own, and needs no `handler`. */
  readonly isolation?: IsolationKind | Isolation
  /** Default `['default']`. */
  readonly queues?: readonly string[]
  /** How many tasks run at once. Default: as many as there are processors. */
  readonly concurrency?: number
  /** How long the coordinator is asked to wait for a task. Default 30,000. */
  readonly pollWaitMs?: number
  /** How long a handler that was told to end may take before it is terminated. Default 5,000. */
  readonly abortGraceMs?: number
  /** How long `stop` lets handlers run on. Default 30,000. */
  readonly drainGraceMs?: number
  /** By which part of a duration this clock and the coordinator's may come apart. Default 0.01. */
  readonly clockDrift?: number
  /** For Node in the handlers' threads and processes. Default: none. */
  readonly execArgv?: readonly string[]
  /** A report came too late: whatever the execution did never had authority. */
  readonly onCancelled?: (task: TaskFacts, answer: Cancelled) => void
  readonly observer?: WorkerObserver
  /** Milliseconds since the epoch, for the deadline that handlers see. */
  readonly wallClock?: () => number
}

/** The options with their defaults, checked; those of the link it checks itself. */
export interface WorkerSettings {
  readonly link: Omit<LinkOptions, 'observer'>
  readonly makeIsolation: (observer: WorkerObserver) => Isolation
  readonly queues: readonly string[]
  readonly concurrency: number
  readonly pollWaitMs: number
  readonly abortGraceMs: number
  readonly drainGraceMs: number
  readonly clockDrift: number
  readonly wallClock: () => number
  readonly observers: readonly WorkerObserver[]
}

export function settle(options: WorkerOptions): WorkerSettings {
  const {
    handler,
    isolation = 'thread',
    execArgv = [],
    queues = ['default'],
    concurrency = availableParallelism(),
    pollWaitMs = 30_000,
    abortGraceMs = 5000,
    drainGraceMs = 30_000,
    clockDrift = 0.01,
    onCancelled,
    observer,
    wallClock = systemWallClock,
    ...link
  } = options
  const { durationMsMax } = messageLimits
  checkObserver(observer)
  refuseOwn(link)
  return {
    link: nameLink(link, whole('concurrency', concurrency, 1, concurrencyMax)),
    makeIsolation: isolate(isolation, handler, checkTexts('execArgv', execArgv)),
    queues: checkQueues(queues),
    concurrency,
    pollWaitMs: whole('pollWaitMs', pollWaitMs, 1, durationMsMax),
    abortGraceMs: whole('abortGraceMs', abortGraceMs, 0, durationMsMax),
    drainGraceMs: whole('drainGraceMs', drainGraceMs, 0, durationMsMax),
    clockDrift: part('clockDrift', clockDrift),
    wallClock: callable('wallClock', wallClock),
    observers: [
      ...(observer ? [observer] : []),
      ...(onCancelled ? [{ cancelled: callable('onCancelled', onCancelled) }] : []),
    ],
  }
}

const concurrencyMax = 10_000
/** Quicker than a client's: while it is away its leases run out. */
const backoff = { initialMs: 50, maxMs: 1000 }

/** What the runtime sets itself; without types it could be given, and would be overwritten. */
function refuseOwn(link: object): void {
  for (const name of ['role', 'capacity', 'connectTimeoutMs']) {
    if (name in link) throw badOption(name, 'no option of a worker', 'left out')
  }
}

function checkObserver(observer: WorkerObserver = {}): void {
  if (typeof observer !== 'object' || observer === null) {
    throw badOption('observer', describe(observer), 'an object')
  }
  for (const hook of hookNames) {
    if (observer[hook] !== undefined) callable(`observer.${hook}`, observer[hook])
  }
}

function nameLink(link: Omit<LinkOptions, 'observer'>, capacity: number): WorkerSettings['link'] {
  const { name = `worker-${(link.random ?? systemRandom).id()}` } = link
  return { backoff, ...link, name, capacity, role: 'work' }
}

function isolate(
  isolation: IsolationKind | Isolation,
  handler: WorkerOptions['handler'],
  execArgv: readonly string[],
): WorkerSettings['makeIsolation'] {
  if (typeof isolation === 'object') {
    const own = checkIsolation(isolation)
    return () => own
  }
  if (!isolations.includes(isolation)) {
    throw badOption('isolation', String(isolation), `one of ${isolations.join(', ')}`)
  }
  if (isolation === 'inline') {
    if (typeof handler === 'function') return () => new InlineIsolation(async () => handler)
    const url = toUrl(handler)
    return () => new InlineIsolation(() => loadHandler(url))
  }
  const start = isolation === 'thread' ? startThread : startProcess
  const url = toUrl(handler)
  const startHost: StartHost = (events) => start(url, { execArgv }, events)
  return (observer) => new HostPool(startHost, (reason) => observer.hostCrashed?.(reason))
}

function checkIsolation(isolation: Isolation | null): Isolation {
  if (isolation === null) throw badOption('isolation', 'null', 'an object')
  for (const verb of ['start', 'run', 'close'] as const) {
    callable(`isolation.${verb}`, isolation[verb])
  }
  return isolation
}

function toUrl(handler: WorkerOptions['handler']): string {
  if (handler instanceof URL) return handler.href
  if (typeof handler === 'string' && handler !== '') return toFileUrl(handler)
  const got = typeof handler === 'function' ? 'a function, which can only run inline' : `${handler}`
  throw badOption('handler', got, 'the path or URL of a module with a default export')
}

function toFileUrl(path: string): string {
  return path.startsWith('file:') ? path : pathToFileURL(resolve(path)).href
}

function checkQueues(queues: readonly string[]): readonly string[] {
  const { queuesMax, queueBytesMax } = messageLimits
  if (!Array.isArray(queues) || queues.length === 0 || queues.length > queuesMax) {
    throw badOption('queues', describe(queues), `a list of 1 to ${queuesMax} names`)
  }
  for (const [index, queue] of queues.entries()) {
    const bytes = typeof queue === 'string' ? Buffer.from(queue) : Buffer.alloc(0)
    const isWhole = bytes.toString() === queue
    if (isWhole && bytes.length >= 1 && bytes.length <= queueBytesMax) continue
    const expected = `a text of 1 to ${queueBytesMax} bytes, in whole characters`
    throw badOption(`queues[${index}]`, describe(queue), expected)
  }
  return queues
}

function checkTexts(name: string, texts: readonly string[]): readonly string[] {
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts
  throw badOption(name, describe(texts), 'a list of texts')
}

function callable<F>(name: string, value: F): F {
  if (typeof value === 'function') return value
  throw badOption(name, describe(value), 'a function')
}

function whole(name: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) {
    return value as number
  }
  throw badOption(name, describe(value), `a whole number from ${min} to ${max}`)
}

function part(name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < 1) return value
  throw badOption(name, describe(value), 'a number from 0 to below 1')
}

function describe(value: unknown): string {
  return Array.isArray(value) ? `a list of ${value.length}` : String(value)
}
