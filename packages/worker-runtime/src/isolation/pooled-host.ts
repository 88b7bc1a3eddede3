import { describeThrown, type Outcome, type Work } from '../handler.js'

import type { FromHost, ToHost } from './host-messages.js'
import type { Run, RunEvents } from './isolation.js'
import { linesUnheardMax } from './valve.js'

/** A thread or a process in which a handler can run. */
export interface Host {
  post(message: ToHost): void
  /** Ends it at once, whatever it does; `gone` follows. */
  kill(): void
}

export interface HostEvents {
  received(message: FromHost): void
  /** It does not run any more: once, and the last. */
  gone(why: unknown): void
}

export interface HostOptions {
  readonly execArgv: readonly string[]
}

export type StartHost = (events: HostEvents) => Host

/** Tells the pool what becomes of its seats. */
export interface SeatListener {
  /** The handler has ended; another task can be run here. */
  freed(seat: HostSeat): void
  gone(seat: HostSeat, why: string): void
}

/** One host and the task that runs in it, if any. */
export class HostSeat {
  /** Settles when the handler's module is loaded, or when it is certain that it will not be. */
  readonly loaded: Promise<string | undefined>
  readonly gone: Promise<void>
  readonly #host: Host
  readonly #listener: SeatListener
  #run: { readonly leaseId: number; readonly events: RunEvents } | undefined
  #unusable: string | undefined
  #isKilled = false
  #linesHeard = 0
  #onLoaded: (failure: string | undefined) => void = () => {}
  #onGone: () => void = () => {}

  constructor(start: StartHost, listener: SeatListener) {
    this.#listener = listener
    this.loaded = new Promise((resolve) => {
      this.#onLoaded = resolve
    })
    this.gone = new Promise((resolve) => {
      this.#onGone = resolve
    })
    this.#host = start({
      received: (message) => this.#receive(message),
      gone: (why) => this.#end(typeof why === 'string' ? why : describeThrown(why).reason),
    })
  }

  run(work: Work, events: RunEvents): Run {
    const { leaseId } = work
    this.#run = { leaseId, events }
    this.#host.post({ kind: 'run', work })
    return {
      abort: ({ code, message }) => this.#host.post({ kind: 'abort', leaseId, code, message }),
      terminate: () => {
        if (this.#run?.leaseId === leaseId) this.kill()
        return true
      },
    }
  }

  kill(): void {
    this.#isKilled = true
    this.#host.kill()
  }

  #receive(message: FromHost): void {
    if (message.kind === 'ready') this.#onLoaded(undefined)
    else if (message.kind === 'unusable') {
      this.#unusable = message.reason
      this.#host.kill()
    } else if (message.kind === 'logged') {
      const { leaseId, level, message: text, fields } = message
      if (this.#run?.leaseId === leaseId) this.#run.events.logged(level, text, fields)
      this.#tellHeard()
    } else if (this.#run?.leaseId === message.leaseId && !this.#isKilled) {
      // What was terminated is told of when it is gone: it may have ended by itself in between.
      const { events } = this.#run
      this.#run = undefined
      this.#listener.freed(this)
      events.ended(message.outcome)
    }
  }

  /** Not of each line: of as many as are worth a message. */
  #tellHeard(): void {
    this.#linesHeard++
    if (this.#linesHeard < linesUnheardMax / 4) return
    this.#host.post({ kind: 'heard', lines: this.#linesHeard })
    this.#linesHeard = 0
  }

  #end(why: string): void {
    const reason = this.#unusable ?? `the handler did not end: ${why}`
    const run = this.#run
    this.#run = undefined
    this.#listener.gone(this, reason)
    this.#onLoaded(this.#unusable ?? why)
    this.#onGone()
    const outcome: Outcome = this.#isKilled ? { kind: 'terminated' } : { kind: 'crashed', reason }
    run?.events.ended(outcome)
  }
}
