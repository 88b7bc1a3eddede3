import type { Isolation, Outcome, Run, RunEvents, Work, WorkerError } from '../src/index.js'

/** A handler that the test controls. */
export class ManualRun implements Run {
  readonly work: Work
  /** Its aborts, in order. */
  readonly aborts: WorkerError[] = []
  isTerminated = false
  isGone = false
  readonly #ended: RunEvents['ended']
  readonly #logged: RunEvents['logged']
  readonly #isolation: ManualIsolation

  /** Destructures the events, as an isolation may. */
  constructor(isolation: ManualIsolation, work: Work, { ended, logged }: RunEvents) {
    this.#isolation = isolation
    this.work = work
    this.#ended = ended
    this.#logged = logged
  }

  get abortCodes(): readonly string[] {
    return this.aborts.map(({ code }) => code)
  }

  abort(reason: WorkerError): void {
    if (this.isGone) throw new Error('a handler that is gone was told to end')
    this.aborts.push(reason)
  }

  terminate(): boolean {
    if (this.isGone) throw new Error('a handler that is gone was terminated')
    this.isTerminated = true
    if (this.#isolation.terminates === 'immediately') {
      queueMicrotask(() => !this.isGone && this.end({ kind: 'terminated' }))
    }
    return this.#isolation.terminates !== 'never'
  }

  returns(text?: string): void {
    this.end({ kind: 'returned', result: text === undefined ? undefined : Buffer.from(text) })
  }

  throws(reason = 'Error: it broke'): void {
    this.end({ kind: 'failed', reason })
  }

  end(outcome: Outcome): void {
    if (this.isGone) throw new Error('a handler ended twice')
    this.isGone = true
    this.#ended.call(undefined, outcome)
  }

  log(...line: Parameters<RunEvents['logged']>): void {
    this.#logged.call(undefined, ...line)
  }
}

/** Handlers that run, end and ignore their signals under the control of the test. */
export class ManualIsolation implements Isolation {
  readonly runs: ManualRun[] = []
  /** A terminated handler ends immediately or when the test says so, or cannot be terminated. */
  terminates: 'immediately' | 'when told' | 'never' = 'immediately'
  isStarted = false
  isClosed = false
  onClose: () => void = () => {}
  onRun: () => void = () => {}
  /** `never`: close does not resolve, as with handlers in a system call. */
  closes: 'immediately' | 'never' = 'immediately'

  async start(): Promise<void> {
    this.isStarted = true
  }

  run(work: Work, events: RunEvents): Run {
    if (!this.isStarted || this.isClosed) throw new Error('nothing can be run now')
    this.onRun()
    const run = new ManualRun(this, work, events)
    this.runs.push(run)
    return run
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.onClose()
    if (this.closes === 'never') await new Promise(() => undefined)
    if (this.terminates === 'never') return
    for (const run of this.running) run.end({ kind: 'terminated' })
  }

  get running(): readonly ManualRun[] {
    return this.runs.filter(({ isGone }) => !isGone)
  }
}
