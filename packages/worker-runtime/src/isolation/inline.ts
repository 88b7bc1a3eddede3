import type { WorkerError } from '../errors.js'
import {
  type Backing,
  callHandler,
  GivenTask,
  type Handler,
  type LogFields,
  type LogLevel,
  type Outcome,
  type Work,
} from '../handler.js'

import type { Isolation, Run, RunEvents } from './isolation.js'
import { LateAbort } from './late-abort.js'

/**
 * On the runtime's own loop: the quickest, for short asynchronous handlers. One that blocks the loop
 * blocks the heartbeats of all, and none can be terminated.
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
    if (this.#handler === undefined) throw new Error('a task came before the handler was loaded')
    return new InlineRun(this.#handler, work, events)
  }

  async close(): Promise<void> {}
}

class InlineRun implements Run, Backing {
  readonly #events: RunEvents
  #abort: LateAbort | undefined
  #hasEnded = false

  constructor(handler: Handler, work: Work, events: RunEvents) {
    this.#events = events
    void callHandler(handler, new GivenTask(work, this), (outcome) => this.#end(outcome))
  }

  get signal(): AbortSignal {
    this.#abort ??= new LateAbort()
    return this.#abort.signal
  }

  abort(reason: WorkerError): void {
    this.#abort ??= new LateAbort()
    this.#abort.abort(reason)
  }

  terminate(): boolean {
    return false
  }

  write(level: LogLevel, message: string, fields?: LogFields): void {
    // What a handler leaves behind may still speak; its task is over.
    if (!this.#hasEnded) this.#events.logged(level, message, fields)
  }

  #end(outcome: Outcome): void {
    this.#hasEnded = true
    this.#events.ended(outcome)
  }
}
