import { type Link, openLink, RejectedError, TenureError } from '@tenure/client'
import type { Leased, Rejected } from '@tenure/protocol'
import { type Clock, Observers, systemClock } from '@tenure/seams'
import { Execution, type ExecutionContext } from './attempt/execution.js'
import { LateTimers } from './attempt/late-timers.js'
import { ReportIds } from './attempt/report.js'
import { WorkerError } from './errors.js'
import type { TaskFacts } from './handler.js'
import { WorkerMetrics } from './observe/metrics.js'
import {
  transitions,
  type WorkerMode,
  type WorkerObserver,
  workerHooks,
} from './observe/observer.js'
import { settle, type WorkerOptions, type WorkerSettings } from './options.js'
import { Outage } from './polling/outage.js'
import { Polls } from './polling/polls.js'

/** Which request was refused. */
type Refused = 'lease' | 'heartbeat' | 'report'

/** Connects with a coordinator, waiting for one up to `giveUpAfterMs`, and begins to ask for tasks. */
export async function startWorker(
  options: WorkerOptions,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Worker> {
  const worker = new Worker(options)
  await worker.start({ signal })
  return worker
}

/**
 * The worker's loop: lease, run, heartbeat, report, obey the answer. It decides nothing about a task.
 *
 *              ┌── a task is granted ──▶
 *     idle ──▶ leasing            running        idle: the handler is loaded, a coordinator looked for
 *              ◀─ the last one is over ─┘        leasing: asks for tasks, has none
 *                 │                  │           running: has tasks, asks for more where slots are free
 *                 └────── stop ──────┘           draining: asks for none, lets the handlers end
 *                          ▼                     stopped: has none, and no connection
 *                       draining ──▶ stopped
 *
 * Beside `stop`, two things begin the drain: a refusal that no correct worker earns (004 §3.3), and
 * retries that have reached their bound (004 §6.1). Then the worker has failed, and `ended` says why.
 */
export class Worker {
  readonly metrics: WorkerMetrics
  /**
   * Settles when the worker is stopped: resolves after `stop`, rejects with the `WorkerError` where the worker has
   * failed. A rejection that is not handled does no harm.
   */
  readonly ended: Promise<void>
  readonly #settings: WorkerSettings
  readonly #observer: WorkerObserver
  readonly #isolation: ReturnType<WorkerSettings['makeIsolation']>
  readonly #outage: Outage
  #mode: WorkerMode = 'idle'
  #link: Link | undefined
  #polls: Polls | undefined
  #lateTimers: LateTimers | undefined
  /** Not a Set: many pass through it, and what it leaves behind holds them (see the client's `IdMap`). */
  readonly #executions: Execution[] = []
  /** Slots whose handler is not gone. A report on its way takes none. */
  #slotsTaken = 0
  #isStarted = false
  /** Aborted by `stop`: a coordinator is looked for no more. */
  readonly #starting = new AbortController()
  #stopping: Promise<void> | undefined
  /** Why it ends by itself: the first reason. */
  #failure: WorkerError | undefined
  #settleEnded: (end: Promise<void>) => void = () => {}
  /** What is granted now comes too late. */
  #isGraceOver = false
  #onQuiet: () => void = () => {}

  constructor(options: WorkerOptions) {
    const settings = settle(options)
    this.#settings = settings
    this.metrics = new WorkerMetrics(settings.processMetrics)
    this.#outage = new Outage(this.#clock, settings.giveUpAfterMs, (error) => this.#fail(error))
    const own = [this.metrics.observer, this.#outage.observer]
    this.#observer = new Observers<WorkerObserver>(workerHooks, [...own, ...settings.observers]).all
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve
    })
    this.ended.catch(() => {})
    this.#isolation = settings.makeIsolation(this.#observer)
    this.metrics.measure({
      slots: settings.concurrency,
      slotsTaken: () => this.#slotsTaken,
      isConnected: () => this.isConnected,
    })
  }

  get mode(): WorkerMode {
    return this.#mode
  }

  /** Under this name the coordinator knows its leases. */
  get name(): string {
    return this.#settings.link.name ?? ''
  }

  get queues(): readonly string[] {
    return this.#settings.queues
  }

  get concurrency(): number {
    return this.#settings.concurrency
  }

  get isConnected(): boolean {
    return this.#link?.isConnected ?? false
  }

  get #clock(): Clock {
    return this.#settings.link.clock ?? systemClock
  }

  /** Once. When it rejects nothing is left behind, and the worker is `stopped`. */
  async start({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    if (this.#isStarted) throw new Error('a worker starts once')
    this.#isStarted = true
    // Node keeps a signal made of others, and all that hangs on it, for as long as somebody listens.
    const { signal: own } = this.#starting
    const either = signal === undefined ? own : AbortSignal.any([own, signal])
    try {
      await unlessAborted(either, () => this.#isolation.start())
      const link = await this.#connect(either)
      if (this.#stopping === undefined) this.#lease(link)
      else await link.close()
    } catch (error) {
      // Whoever asks for the end is told of what is wrong with it; here it would hide why it did not start.
      await this.stop().catch(() => {})
      throw this.#failure ?? error
    }
  }

  #connect(signal: AbortSignal): Promise<Link> {
    // The outage has the bound, now and after every connection that is lost.
    const connectTimeoutMs = Number.POSITIVE_INFINITY
    this.#outage.begin()
    const options = { ...this.#settings.link, connectTimeoutMs, observer: this.#observer }
    return openLink(options, { signal })
  }

  #lease(link: Link): void {
    const { queues, pollWaitMs, giveUpAfterMs } = this.#settings
    this.#link = link
    this.#lateTimers = new LateTimers(link.clock, this.#executions)
    const context: ExecutionContext = {
      ...this.#settings,
      link,
      isolation: this.#isolation,
      observer: this.#observer,
      lateTimers: this.#lateTimers,
      reportIds: new ReportIds(link.random),
      listener: {
        slotFreed: () => this.#onSlotFreed(),
        misused: (answer, what, task) => this.#onMisused(answer, what, task),
        over: (execution) => this.#onOver(execution),
      },
    }
    this.#polls = new Polls(
      { link, queues, waitMs: pollWaitMs, giveUpAfterMs },
      {
        freeSlots: () => this.#settings.concurrency - this.#slotsTaken,
        granted: (lease, sentAtMs) => this.#execute(lease, sentAtMs, context),
        failed: (error, retryInMs) => this.#observer.pollFailed?.(error, retryInMs),
        misused: (answer) => this.#onMisused(answer, 'lease'),
        gaveUp: (error) => this.#fail(error),
        withdrawn: () => this.#checkQuiet(),
      },
    )
    this.#setMode('leasing')
    this.#polls.fill()
  }

  /**
   * Asks for no more tasks, and lets those that run end within the grace. What does not is told to
   * end, terminated where that is possible, and left for its lease to expire.
   */
  stop(): Promise<void> {
    if (this.#stopping === undefined) {
      this.#stopping = this.#stop()
      this.#settleEnded(this.#stopping.then(() => this.#throwFailure()))
    }
    return this.#stopping
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  #fail(error: WorkerError): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    // `ended` tells how it goes. It comes first: no observer that throws keeps the worker from it.
    this.stop().catch(() => {})
    this.#observer.failed?.(error)
  }

  #onMisused(answer: Rejected, what: Refused, task?: TaskFacts): void {
    if (!this.#settings.keepGoing) this.#fail(protocolError(answer, what, task))
    this.#observer.protocolError?.(answer, what)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #stop(): Promise<void> {
    const { drainGraceMs, abortGraceMs } = this.#settings
    this.#starting.abort()
    this.#outage.stop()
    if (this.#link !== undefined) {
      this.#setMode('draining')
      this.#polls?.withdraw()
      if (!(await this.#becomesQuiet(this.#link, drainGraceMs))) {
        this.#isGraceOver = true
        for (const execution of [...this.#executions]) execution.leave()
        await this.#becomesQuiet(this.#link, abortGraceMs + goodbyeMs)
      }
      // First: what is granted after this could not be run, and not be ended.
      await this.#link.close()
    }
    try {
      await this.#closeIsolation()
    } finally {
      for (const execution of [...this.#executions]) execution.abandon()
      if (this.#link !== undefined) {
        await this.#becomesQuiet(this.#link, Number.POSITIVE_INFINITY)
      }
      this.#lateTimers?.stop()
      this.#setMode('stopped')
    }
  }

  /** What is held by a call into the system is gone when that lets it go: nobody waits for it. */
  async #closeIsolation(): Promise<void> {
    let giveUp = (): void => {}
    const tooLong = new Promise<void>((resolve) => {
      giveUp = resolve
    })
    const timer = this.#clock.setTimer(goodbyeMs, giveUp)
    try {
      await Promise.race([this.#isolation.close(), tooLong])
    } finally {
      timer.cancel()
    }
  }

  #execute(lease: Leased, sentAtMs: number, context: ExecutionContext): void {
    if (this.#isGraceOver) {
      this.#leaveUnstarted(lease)
      return
    }
    // A worker that stood still may hear of the next lease before it has noticed the end of its own.
    if (lease.attempt > 1) {
      const earlier = this.#executions.filter(({ facts }) => facts.taskId === lease.taskId)
      for (const execution of earlier) execution.supersede()
    }
    this.#slotsTaken++
    const execution = new Execution(lease, sentAtMs, context)
    this.#executions.push(execution)
    if (this.#mode === 'leasing') this.#setMode('running')
    execution.start(lease.payload)
  }

  #onSlotFreed(): void {
    this.#slotsTaken--
    this.#polls?.fill()
  }

  #onOver(execution: Execution): void {
    this.#executions.splice(this.#executions.indexOf(execution), 1)
    if (this.#executions.length === 0 && this.#mode === 'running') this.#setMode('leasing')
    this.#checkQuiet()
  }

  #leaveUnstarted({ taskId, queue, attempt, leaseId }: Leased): void {
    const facts = { taskId, queue, attempt, leaseId }
    this.#observer.leased?.(facts)
    this.#observer.unreported?.(facts, 'STOPPING')
  }

  get #isQuiet(): boolean {
    return this.#executions.length === 0 && this.#polls?.arePending !== true
  }

  #checkQuiet(): void {
    if (this.#mode === 'draining' && this.#isQuiet) this.#onQuiet()
  }

  /** Whether nothing runs any more, and nothing can come, before the time is over. */
  #becomesQuiet(link: Link, timeMs: number): Promise<boolean> {
    if (this.#isQuiet) return Promise.resolve(true)
    return new Promise((resolve) => {
      const timer = link.clock.setTimer(timeMs, () => resolve(false))
      this.#onQuiet = () => {
        timer.cancel()
        resolve(true)
      }
    })
  }

  #setMode(mode: WorkerMode): void {
    if (!transitions[this.#mode].includes(mode)) {
      throw new Error(`a worker cannot go from ${this.#mode} to ${mode}`)
    }
    this.#mode = mode
    this.#observer.modeChanged?.(mode)
  }
}

/** For the last reports to be answered. */
const goodbyeMs = 1000

function protocolError(answer: Rejected, what: Refused, task: TaskFacts | undefined): WorkerError {
  const of = task === undefined ? 'request' : `of task ${task.taskId} under lease ${task.leaseId}`
  const cause = new RejectedError(answer)
  const message = `the coordinator rejected a ${what} ${of} (${cause.message}): a protocol error; check for two workers with the same name, a restored log or incompatible versions, or set options.keepGoing`
  return new WorkerError('WORKER_PROTOCOL_ERROR', message, { cause })
}

/** Waits for what was begun, or no longer than the signal lets it. */
async function unlessAborted<T>(signal: AbortSignal, begin: () => Promise<T>): Promise<T> {
  if (signal.aborted) throw abortedBy(signal)
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(abortedBy(signal))
    signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([begin(), aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function abortedBy({ reason }: AbortSignal): TenureError {
  return new TenureError('CLIENT_ABORTED', 'aborted by its signal', { cause: reason })
}
