import { callHandler, type Handler } from '../handler.js'
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
    const abort = new LateAbort()
    void this.#call(this.#handler, work, events, abort)
    return {
      abort: (reason) => abort.abort(reason),
      terminate: () => false,
    }
  }

  async close(): Promise<void> {}

  async #call(handler: Handler, work: Work, events: RunEvents, abort: LateAbort): Promise<void> {
    let hasEnded = false
    const outcome = await callHandler(handler, work, abort, (...line) => {
      // What a handler leaves behind may still speak; its task is over.
      if (!hasEnded) events.logged(...line)
    })
    hasEnded = true
    events.ended(outcome)
  }
}
