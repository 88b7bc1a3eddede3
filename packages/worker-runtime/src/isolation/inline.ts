import type { WorkerError } from '../errors.js'
import {
  callHandler,
  GivenTask,
  type Handler,
  type HandlerTask,
  type WriteLine,
} from '../handler.js'
import { LateAbort } from '../late-abort.js'
import type { Work } from '../task-facts.js'
import type { Isolation, Run, RunEvents } from './isolation.js'

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

class InlineRun implements Run {
  readonly #events: RunEvents
  readonly #abort = new LateAbort()
  #hasEnded = false

  constructor(handler: Handler, work: Work, events: RunEvents) {
    this.#events = events
    const task = new GivenTask(work, this.#abort, (...line) => this.#write(line))
    void this.#call(handler, task)
  }

  abort(reason: WorkerError): void {
    this.#abort.abort(reason)
  }

  terminate(): boolean {
    return false
  }

  async #call(handler: Handler, task: HandlerTask): Promise<void> {
    const outcome = await callHandler(handler, task)
    this.#hasEnded = true
    this.#events.ended(outcome)
  }

  /** What a handler leaves behind may still speak; its task is over. */
  #write(line: Parameters<WriteLine>): void {
    if (!this.#hasEnded) this.#events.logged(...line)
  }
}
