import type { WorkerError } from '../errors.js'
import {
  type Backing,
  callHandler,
  type Handler,
  LazyHandlerTask,
  type LogFields,
  type LogLevel,
  type Outcome,
  type Work,
} from '../handler.js'

import type { Isolation, Run, RunEvents } from './isolation.js'
import { LazyAbort } from './lazy-abort.js'

/**
 * Runs handlers on the runtime's own event loop. It is the fastest way for short asynchronous handlers. A
 * handler that blocks the loop blocks all heartbeats, and cannot be terminated.
 */
export class InlineIsolation implements Isolation {
  readonly #load: () => Promise<Handler>
  #handler: Handler | undefined

  constructor(load: () => Promise<Handler>) {
    this.#load = load
  }

  async start(): Promise<void> {
    this.#handler = await this.#load()
  }

  run(work: Work, events: RunEvents): Run {
    if (this.#handler === undefined)
      throw new Error('run() was called before start() has loaded the handler')
    return new InlineRun(this.#handler, work, events)
  }

  async close(): Promise<void> {}
}

class InlineRun implements Run, Backing {
  readonly #events: RunEvents
  #abort: LazyAbort | undefined
  #hasEnded = false

  constructor(handler: Handler, work: Work, events: RunEvents) {
    this.#events = events
    void callHandler(handler, new LazyHandlerTask(work, this), (outcome) => this.#end(outcome))
  }

  get signal(): AbortSignal {
    this.#abort ??= new LazyAbort()
    return this.#abort.signal
  }

  abort(reason: WorkerError): void {
    this.#abort ??= new LazyAbort()
    this.#abort.abort(reason)
  }

  terminate(): boolean {
    return false
  }

  write(level: LogLevel, message: string, fields?: LogFields): void {
    // Code that a handler leaves running may still log, but its task is over.
    if (!this.#hasEnded) this.#events.logged(level, message, fields)
  }

  #end(outcome: Outcome): void {
    this.#hasEnded = true
    this.#events.ended(outcome)
  }
}
