import { describeThrown, type Outcome, type Work } from '../handler.js'

import type { FromHost, ToHost } from './host-messages.js'
import type { Run, RunEvents } from './isolation.js'
import { linesPendingMax } from './log-throttle.js'

/** A thread or process that runs a handler. */
export interface Host {
  post(message: ToHost): void
  /** Kills the host immediately; `gone` follows. */
  kill(): void
}

export interface HostEvents {
  received(message: FromHost): void
  /** The host has ended. Called once, as the last event. */
  gone(why: unknown): void
}

export interface HostOptions {
  readonly execArgv: readonly string[]
}

export type StartHost = (events: HostEvents) => Host

/** Receives the events of a pooled host. */
export interface PooledHostListener {
  /** The handler has ended; the host can run another task. */
  freed(host: PooledHost): void
  gone(host: PooledHost, why: string): void
}

/** A host and the task that it currently runs, if any. */
export class PooledHost {
  /** Resolves once the handler's module is loaded, or with the reason why it cannot be loaded. */
  readonly loaded: Promise<string | undefined>
  readonly gone: Promise<void>
  readonly #host: Host
  readonly #listener: PooledHostListener
  #run: { readonly leaseId: number; readonly events: RunEvents } | undefined
  #unusable: string | undefined
  #isKilled = false
  #linesProcessed = 0
  #onLoaded: (failure: string | undefined) => void = () => {}
  #onGone: () => void = () => {}

  constructor(start: StartHost, listener: PooledHostListener) {
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
      this.#acknowledgeLine()
    } else if (this.#run?.leaseId === message.leaseId && !this.#isKilled) {
      // The outcome of a killed host is reported when it is gone, although its handler may have ended just
      // before.
      const { events } = this.#run
      this.#run = undefined
      this.#listener.freed(this)
      events.ended(message.outcome)
    }
  }

  /** Acknowledges log lines in groups, because each message has a cost. */
  #acknowledgeLine(): void {
    this.#linesProcessed++
    if (this.#linesProcessed < linesPendingMax / 4) return
    this.#host.post({ kind: 'acknowledged', lines: this.#linesProcessed })
    this.#linesProcessed = 0
  }

  #end(why: string): void {
    const reason = this.#unusable ?? `the handler crashed: ${why}`
    const run = this.#run
    this.#run = undefined
    this.#listener.gone(this, reason)
    this.#onLoaded(this.#unusable ?? why)
    this.#onGone()
    const outcome: Outcome = this.#isKilled ? { kind: 'terminated' } : { kind: 'crashed', reason }
    run?.events.ended(outcome)
  }
}
