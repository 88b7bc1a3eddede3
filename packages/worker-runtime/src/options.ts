import { availableParallelism } from 'node:os'
import type { LinkOptions } from '@tenure/client'
import { describe } from '@tenure/options'
import { type Cancelled, messageLimits } from '@tenure/protocol'
import { systemRandom } from '@tenure/seams'
import { check } from './errors.js'
import type { Handler, TaskFacts } from './handler.js'
import { chooseIsolation, type IsolationKind } from './isolation/choice.js'
import type { Isolation } from './isolation/isolation.js'
import { checkObserver, type WorkerObserver } from './observe/observer.js'

export interface WorkerOptions extends OfLink {
  /** Path or file URL of the module whose default export runs the tasks. `inline` also accepts a function. */
  readonly handler?: string | URL | Handler | undefined
  /** Where handlers run. Default `thread`. An object is a custom isolation and needs no `handler`. */
  readonly isolation?: IsolationKind | Isolation | undefined
  /** Queues to lease tasks from. Default `['default']`. */
  readonly queues?: readonly string[] | undefined
  /** Maximum number of concurrent tasks. Default: the number of processors. */
  readonly concurrency?: number | undefined
  /** Maximum time a lease request waits at the coordinator for a task. Default 30,000. */
  readonly pollWaitMs?: number | undefined
  /** Time an aborted handler has to end before it is terminated. Default 5,000. */
  readonly abortGraceMs?: number | undefined
  /** Time running handlers have to finish after `stop`. Default 30,000. */
  readonly drainGraceMs?: number | undefined
  /** Maximum time without a connection, or with every lease request rejected. Default `Infinity`. */
  readonly giveUpAfterMs?: number | undefined
  /** Whether to continue after a protocol error. Default false: the worker fails. */
  readonly keepGoing?: boolean | undefined
  /** By which share of a duration the clocks of worker and coordinator may differ. Default 0.01. */
  readonly clockDrift?: number | undefined
  /** Node options for the threads or processes of handlers. Default: none. */
  readonly execArgv?: readonly string[] | undefined
  /** Called when a report arrived too late and its result was dropped. Must not throw. */
  readonly onCancelled?: ((task: TaskFacts, answer: Cancelled) => void) | undefined
  readonly observer?: WorkerObserver | undefined
  /** Whether to add the metrics of the Node process. Default false. */
  readonly processMetrics?: boolean | undefined
}

/** The checked options, with defaults. The link checks its own options. */
export interface WorkerSettings {
  readonly link: Omit<LinkOptions, 'observer'>
  readonly makeIsolation: (observer: WorkerObserver) => Isolation
  readonly queues: readonly string[]
  readonly concurrency: number
  readonly pollWaitMs: number
  readonly abortGraceMs: number
  readonly drainGraceMs: number
  readonly giveUpAfterMs: number
  readonly keepGoing: boolean
  readonly clockDrift: number
  readonly processMetrics: boolean
  readonly observers: readonly WorkerObserver[]
}

export function resolveOptions(options: WorkerOptions): WorkerSettings {
  const {
    handler,
    isolation = 'thread',
    execArgv = [],
    queues = ['default'],
    concurrency = availableParallelism(),
    pollWaitMs = 30_000,
    abortGraceMs = 5000,
    drainGraceMs = 30_000,
    giveUpAfterMs = Number.POSITIVE_INFINITY,
    keepGoing = false,
    clockDrift = 0.01,
    onCancelled,
    observer,
    processMetrics = false,
    ...link
  } = options
  const { durationMsMax } = messageLimits
  checkObserver(observer)
  check.names('options', options, optionNames)
  return {
    link: nameLink(link, check.whole('options.concurrency', concurrency, 1, concurrencyMax)),
    makeIsolation: chooseIsolation(isolation, handler, checkExecArgv(execArgv)),
    queues: checkQueues(queues),
    concurrency,
    pollWaitMs: check.whole('options.pollWaitMs', pollWaitMs, 1, durationMsMax),
    abortGraceMs: check.whole('options.abortGraceMs', abortGraceMs, 0, durationMsMax),
    drainGraceMs: check.whole('options.drainGraceMs', drainGraceMs, 0, durationMsMax),
    giveUpAfterMs: checkGiveUpAfter(giveUpAfterMs, durationMsMax),
    keepGoing: check.boolean('options.keepGoing', keepGoing),
    clockDrift: checkClockDrift(clockDrift),
    processMetrics: check.boolean('options.processMetrics', processMetrics),
    observers: [
      ...(observer ? [observer] : []),
      ...(onCancelled ? [{ cancelled: check.callable('options.onCancelled', onCancelled) }] : []),
    ],
  }
}

const concurrencyMax = 10_000
/** Faster than a client's backoff: leases run out while the worker is disconnected. */
const backoff = { initialMs: 50, maxMs: 1000 }

type OfLink = Omit<LinkOptions, 'role' | 'capacity' | 'connectTimeoutMs' | 'observer'>

/** Written as a table, so that the compiler reports a missing option. */
const known: { readonly [O in keyof Required<WorkerOptions>]: true } = {
  handler: true,
  isolation: true,
  queues: true,
  concurrency: true,
  pollWaitMs: true,
  abortGraceMs: true,
  drainGraceMs: true,
  giveUpAfterMs: true,
  keepGoing: true,
  clockDrift: true,
  execArgv: true,
  onCancelled: true,
  observer: true,
  processMetrics: true,
  endpoints: true,
  name: true,
  token: true,
  tls: true,
  attemptTimeoutMs: true,
  requestTimeoutMs: true,
  keepAliveMs: true,
  backoff: true,
  transport: true,
  clock: true,
  random: true,
}
const optionNames = Object.keys(known)

function checkQueues(queues: readonly string[]): readonly string[] {
  const { queuesMax, queueBytesMax } = messageLimits
  check.list('options.queues', queues, `a list of 1 to ${queuesMax} names`, 1, queuesMax)
  for (const [index, queue] of queues.entries()) {
    check.text(`options.queues[${index}]`, queue, 1, queueBytesMax)
  }
  return queues
}

function checkExecArgv(execArgv: readonly string[]): readonly string[] {
  check.list('options.execArgv', execArgv, 'a list of texts')
  if (execArgv.every((text) => typeof text === 'string')) return execArgv
  throw check.refusal('options.execArgv', describe(execArgv), 'a list of texts')
}

function checkGiveUpAfter(value: unknown, max: number): number {
  if (value === Number.POSITIVE_INFINITY) return value
  if (Number.isInteger(value)) return check.whole('options.giveUpAfterMs', value, 1, max)
  const expected = `a whole number from 1 to ${max}, or Infinity`
  throw check.refusal('options.giveUpAfterMs', describe(value), expected)
}

function checkClockDrift(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < 1) return value
  throw check.refusal('options.clockDrift', describe(value), 'a number from 0 to below 1')
}

function nameLink(link: OfLink, capacity: number): WorkerSettings['link'] {
  const { name = `worker-${(link.random ?? systemRandom).id()}` } = link
  return { ...link, backoff: completeBackoff(link.backoff), name, capacity, role: 'work' }
}

/** Leaves an invalid value for the link to reject. */
function completeBackoff(given: OfLink['backoff'] = {}): NonNullable<OfLink['backoff']> {
  return typeof given === 'object' ? { ...backoff, ...given } : given
}
