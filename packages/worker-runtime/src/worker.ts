import { type Link, openLink, RejectedError, TenureError } from '@tenure/client'
import type { Leased, Rejected } from '@tenure/protocol'
import { type Clock, Observers, systemClock } from '@tenure/seams'
import { DeferredTimers } from './attempt/deferred-timers.js'
import { Execution, type ExecutionContext } from './attempt/execution.js'
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
import { resolveOptions, type WorkerOptions, type WorkerSettings } from './options.js'
import { Outage } from './polling/outage.js'
import { Polls } from './polling/polls.js'

/** The kind of a rejected request. */
type Refused = 'lease' | 'heartbeat' | 'report'

/** Starts a worker: waits up to `giveUpAfterMs` for a coordinator, and then leases tasks. */
export async function startWorker(
  options: WorkerOptions,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Worker> {
  const worker = new Worker(options)
  await worker.start({ signal })
  return worker
}

/**
 * The worker's main loop: lease, run, heartbeat, report, obey the answer. It makes no decisions about tasks.
 *
 *              ┌── a task is granted ──▶
 *     idle ──▶ leasing            running        idle: the handler is loaded, a coordinator looked for
 *              ◀─ the last one is over ─┘        leasing: asks for tasks, has none
 *                 │                  │           running: has tasks, asks for more where slots are free
 *                 └────── stop ──────┘           draining: asks for none, lets the handlers end
 *                          ▼                     stopped: has none, and no connection
 *                       draining ──▶ stopped
 *
 * Besides `stop`, two failures start the drain: a rejection that only a bug or misuse causes (004 §3.3), and
 * retries that have reached their limit (004 §6.1). `ended` then rejects with the cause.
 */
export class Worker {
  readonly metrics: WorkerMetrics
  /**
   * Settles when the worker has stopped: resolves after `stop`, rejects with the `WorkerError` if the worker
   * has failed. An unhandled rejection is harmless.
   */
  readonly ended: Promise<void>
  readonly #settings: WorkerSettings
  readonly #observer: WorkerObserver
  readonly #isolation: ReturnType<WorkerSettings['makeIsolation']>
  readonly #outage: Outage
  #mode: WorkerMode = 'idle'
  #link: Link | undefined
  #polls: Polls | undefined
  #deferredTimers: DeferredTimers | undefined
  /** Not a Set: its leftover memory would keep removed entries alive (see the client's `IdMap`). */
  readonly #executions: Execution[] = []
  /** Slots whose handler has not ended. A pending report takes no slot. */
  #slotsTaken = 0
  #isStarted = false
  /** Aborted by `stop`, to end the startup. */
  readonly #starting = new AbortController()
  #stopping: Promise<void> | undefined
  /** The first failure. */
  #failure: WorkerError | undefined
  #settleEnded: (end: Promise<void>) => void = () => {}
  /** Tasks granted from now on are not started. */
  #isGraceOver = false
  #onQuiet: () => void = () => {}

  constructor(options: WorkerOptions) {
    const settings = resolveOptions(options)
    this.#settings = settings
    this.metrics = new WorkerMetrics(settings.processMetrics)
    this.#outage = new Outage(this.#clock, settings.giveUpAfterMs, (error) => this.#fail(error))
    const otherLog: WorkerObserver = { attemptFailed: ({ error }) => this.#onOtherLog(error) }
    const own = [this.metrics.observer, this.#outage.observer, otherLog]
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

  /** The coordinator grants leases to this name. */
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

  /** Call it once. If it rejects, everything is closed, and the worker is `stopped`. */
  async start({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    if (this.#isStarted) throw new Error('a worker can be started only once')
    this.#isStarted = true
    // Node keeps a combined signal, and everything it references, while it has a listener.
    const { signal: own } = this.#starting
    const either = signal === undefined ? own : AbortSignal.any([own, signal])
    try {
      await unlessAborted(either, () => this.#isolation.start())
      const link = await this.#connect(either)
      if (this.#stopping === undefined) this.#lease(link)
      else await link.close()
    } catch (error) {
      // `stop` reports its own errors to its callers; here they would hide why the startup failed.
      await this.stop().catch(() => {})
      throw this.#failure ?? error
    }
  }

  #connect(signal: AbortSignal): Promise<Link> {
    // The outage enforces the limit, at startup and after every lost connection.
    const connectTimeoutMs = Number.POSITIVE_INFINITY
    this.#outage.begin()
    const options = { ...this.#settings.link, connectTimeoutMs, observer: this.#observer }
    return openLink(options, { signal })
  }

  #lease(link: Link): void {
    const { queues, pollWaitMs, giveUpAfterMs } = this.#settings
    this.#link = link
    this.#deferredTimers = new DeferredTimers(link.clock, this.#executions)
    const context: ExecutionContext = {
      ...this.#settings,
      link,
      isolation: this.#isolation,
      observer: this.#observer,
      deferredTimers: this.#deferredTimers,
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
   * Leases no more tasks, and lets running ones finish within the drain grace. Remaining handlers are
   * aborted, terminated where possible, and their leases expire.
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
    // Errors of `stop` arrive through `ended`. Called first, so that an observer that throws cannot prevent
    // it.
    this.stop().catch(() => {})
    this.#observer.failed?.(error)
  }

  /** The link is over for good, so nothing that runs can be reported any more. */
  #onOtherLog(error: TenureError): void {
    if (error.code !== 'CLIENT_OTHER_LOG') return
    const message = `another scheduler answered (${error.message})`
    this.#fail(new WorkerError('WORKER_OTHER_LOG', message, { cause: error }))
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
        await this.#becomesQuiet(this.#link, abortGraceMs + lastAnswersMs)
      }
      // First, because a task granted later could neither be run nor be ended.
      await this.#link.close()
    }
    try {
      await this.#closeIsolation()
    } finally {
      for (const execution of [...this.#executions]) execution.abandon()
      if (this.#link !== undefined) {
        await this.#becomesQuiet(this.#link, Number.POSITIVE_INFINITY)
      }
      this.#deferredTimers?.stop()
      this.#setMode('stopped')
    }
  }

  /** Limits the wait: a handler in a system call ends only when the call returns. */
  async #closeIsolation(): Promise<void> {
    let giveUp = (): void => {}
    const tooLong = new Promise<void>((resolve) => {
      giveUp = resolve
    })
    const timer = this.#clock.setTimer(lastAnswersMs, giveUp)
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
    // A worker that was blocked may receive the next lease of a task before it notices that its own has
    // ended.
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

  /** Whether all executions end, and no grant can arrive, within the time. */
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
      const expected = transitions[this.#mode].join(' or ') || 'no other mode'
      throw new Error(`the worker is ${this.#mode} and cannot become ${mode}; expected ${expected}`)
    }
    this.#mode = mode
    this.#observer.modeChanged?.(mode)
  }
}

/** Time for the last reports to be answered, and for handlers to disappear. */
const lastAnswersMs = 1000

function protocolError(answer: Rejected, what: Refused, task: TaskFacts | undefined): WorkerError {
  const of = task === undefined ? 'request' : `of task ${task.taskId} under lease ${task.leaseId}`
  const cause = new RejectedError(answer)
  const message = `the coordinator rejected a ${what} ${of} (${cause.message}): a protocol error; check for two workers with the same name, a restored log or incompatible versions, or set options.keepGoing`
  return new WorkerError('WORKER_PROTOCOL_ERROR', message, { cause })
}

/** Waits for the started operation, or until the signal aborts. */
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
  const message = 'the call was aborted by the AbortSignal that it was given'
  return new TenureError('CLIENT_ABORTED', message, { cause: reason })
}
