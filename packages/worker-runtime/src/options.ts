import { availableParallelism } from 'node:os'
import type { LinkOptions } from '@tenure/client'
import { type Cancelled, messageLimits } from '@tenure/protocol'
import { systemRandom } from '@tenure/seams'
import { badOption } from './errors.js'
import type { Handler, TaskFacts } from './handler.js'
import { chooseIsolation, type IsolationKind } from './isolation/choice.js'
import type { Isolation } from './isolation/isolation.js'
import { checkObserver, type WorkerObserver } from './observe/observer.js'
import { callable, part, queueNames, texts, whole, wholeOrForever, yesOrNo } from './values.js'

export interface WorkerOptions extends OfLink {
  /** The module whose default export runs the tasks: a path or a file URL. `inline` takes the function, too. */
  readonly handler?: string | URL | Handler | undefined
  /** Default `thread`. An object is an isolation of your own, and needs no `handler`. */
  readonly isolation?: IsolationKind | Isolation | undefined
  /** Default `['default']`. */
  readonly queues?: readonly string[] | undefined
  /** How many tasks run at once. Default: as many as there are processors. */
  readonly concurrency?: number | undefined
  /** How long the coordinator is asked to wait for a task. Default 30,000. */
  readonly pollWaitMs?: number | undefined
  /** How long a handler that was told to end may take before it is terminated. Default 5,000. */
  readonly abortGraceMs?: number | undefined
  /** How long `stop` lets handlers run on. Default 30,000. */
  readonly drainGraceMs?: number | undefined
  /** How long to try without a connection, or with every lease request refused, before the worker fails. Default `Infinity`. */
  readonly giveUpAfterMs?: number | undefined
  /** Whether to lease on after a refusal that no correct worker earns. Default false: the worker fails. */
  readonly keepGoing?: boolean | undefined
  /** By which part of a duration this clock and the coordinator's may come apart. Default 0.01. */
  readonly clockDrift?: number | undefined
  /** For Node in the handlers' threads and processes. Default: none. */
  readonly execArgv?: readonly string[] | undefined
  /** A report came too late: whatever the execution did never had authority. It must not throw. */
  readonly onCancelled?: ((task: TaskFacts, answer: Cancelled) => void) | undefined
  readonly observer?: WorkerObserver | undefined
  /** Whether the metrics have those of the whole process, too. Default false. */
  readonly processMetrics?: boolean | undefined
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
  readonly giveUpAfterMs: number
  readonly keepGoing: boolean
  readonly clockDrift: number
  readonly processMetrics: boolean
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
  refuseOthers(link)
  return {
    link: nameLink(link, whole('concurrency', concurrency, 1, concurrencyMax)),
    makeIsolation: chooseIsolation(isolation, handler, texts('execArgv', execArgv)),
    queues: queueNames(queues),
    concurrency,
    pollWaitMs: whole('pollWaitMs', pollWaitMs, 1, durationMsMax),
    abortGraceMs: whole('abortGraceMs', abortGraceMs, 0, durationMsMax),
    drainGraceMs: whole('drainGraceMs', drainGraceMs, 0, durationMsMax),
    giveUpAfterMs: wholeOrForever('giveUpAfterMs', giveUpAfterMs, durationMsMax),
    keepGoing: yesOrNo('keepGoing', keepGoing),
    clockDrift: part('clockDrift', clockDrift),
    processMetrics: yesOrNo('processMetrics', processMetrics),
    observers: [
      ...(observer ? [observer] : []),
      ...(onCancelled ? [{ cancelled: callable('onCancelled', onCancelled) }] : []),
    ],
  }
}

const concurrencyMax = 10_000
/** Quicker than a client's: while it is away its leases run out. */
const backoff = { initialMs: 50, maxMs: 1000 }

type OfLink = Omit<LinkOptions, 'role' | 'capacity' | 'connectTimeoutMs' | 'observer'>

/** As a table, so that the compiler sees when one is missing. */
const ofLink: { readonly [O in keyof Required<OfLink>]: true } = {
  ...{ endpoints: true, name: true, token: true, tls: true, backoff: true },
  ...{ attemptTimeoutMs: true, requestTimeoutMs: true, keepAliveMs: true },
  ...{ transport: true, clock: true, random: true },
}

/** What is mistyped, and what the runtime sets itself. */
function refuseOthers(link: object): void {
  for (const name of Object.keys(link)) {
    if (!(name in ofLink)) throw badOption(name, 'no option of a worker', 'left out')
  }
}

function nameLink(link: OfLink, capacity: number): WorkerSettings['link'] {
  const { name = `worker-${(link.random ?? systemRandom).id()}` } = link
  return { ...link, backoff: completeBackoff(link.backoff), name, capacity, role: 'work' }
}

/** What is no backoff at all is for the link to refuse. */
function completeBackoff(given: OfLink['backoff'] = {}): NonNullable<OfLink['backoff']> {
  return typeof given === 'object' ? { ...backoff, ...given } : given
}
