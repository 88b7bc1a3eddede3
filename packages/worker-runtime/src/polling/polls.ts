import { type Link, type NewRequest, RejectedError, TenureError } from '@tenure/client'
import type { Answer, Leased, Rejected } from '@tenure/protocol'
import type { Timer } from '@tenure/seams'
import { WorkerError } from '../errors.js'
import { meaningOf } from '../refusals.js'

export interface PollsOptions {
  readonly link: Link
  readonly queues: readonly string[]
  /** How long one poll waits for a task. */
  readonly waitMs: number
  /** For how long every poll may be refused. */
  readonly giveUpAfterMs: number
}

export interface PollsListener {
  /** How many tasks could be run beside those that are running. */
  freeSlots(): number
  granted(lease: Leased, sentAtMs: number): void
  /** There was neither a task nor a wait; it is tried again after a pause. */
  failed(error: TenureError, retryInMs: number): void
  /** A poll was refused as no correct worker's is. Unless the listener withdraws, polls go on after a pause. */
  misused(answer: Rejected): void
  /** Every poll was refused for too long; none is asked any more. */
  gaveUp(error: WorkerError): void
  /** After `withdraw`: no poll can bring a task any more. */
  withdrawn(): void
}

/** More at once would not bring tasks any sooner. */
const pollsMax = 64
const firstPauseMs = 1000
const pauseMsMax = 30_000

/**
 * Asks for tasks, one poll for each slot that is free: a task that is granted is a task that runs.
 * Polls wait at the coordinator; so a task that comes is here as soon as it can be.
 */
export class Polls {
  readonly #options: PollsOptions
  readonly #listener: PollsListener
  readonly #request: NewRequest
  /** Neither answered nor given up. */
  #open = 0
  /** The numbers of those that the coordinator may answer with a task. */
  readonly #sent = new Set<number>()
  #mode: 'asking' | 'resting' | 'withdrawn' = 'asking'
  /** How long to rest when that is not said: longer each time. */
  #pauseMs = firstPauseMs
  /** Since when every poll that was answered was refused. */
  #refusedSinceMs: number | undefined
  /** While resting. */
  #timer: Timer | undefined

  constructor(options: PollsOptions, listener: PollsListener) {
    this.#options = options
    this.#listener = listener
    const { queues, waitMs } = options
    this.#request = { kind: 'lease', queues, waitMs }
  }

  /** Whether a task may still come of them. */
  get arePending(): boolean {
    return this.#sent.size > 0
  }

  /** Asks for as many tasks as there are free slots. */
  fill(): void {
    if (this.#mode !== 'asking') return
    const wanted = Math.min(pollsMax, this.#listener.freeSlots())
    while (this.#open < wanted) this.#poll()
  }

  /** Asks for no more, and ends the waiting of what was asked. A grant on its way still comes. */
  withdraw(): void {
    this.#mode = 'withdrawn'
    this.#timer?.cancel()
    // Whatever it is answered: what counts is the answer to the poll itself.
    for (const of of this.#sent) this.#options.link.ask({ kind: 'withdraw', of }, {}, () => {})
  }

  #poll(): void {
    this.#open++
    const { link } = this.#options
    let number = 0
    let sentAtMs = 0
    const onSent = (id: number) => {
      number = id
      sentAtMs = link.clock.monotonicMs()
      this.#sent.add(id)
    }
    const options = { timeoutMs: Number.POSITIVE_INFINITY, maySend: this.#mayAsk, onSent }
    link.ask(this.#request, options, (outcome) => {
      this.#open--
      this.#sent.delete(number)
      this.#take(outcome, sentAtMs)
      if (this.#mode === 'withdrawn' && !this.arePending) this.#listener.withdrawn()
      this.fill()
    })
  }

  readonly #mayAsk = () => this.#mode !== 'withdrawn'

  #take(outcome: Answer | TenureError, sentAtMs: number): void {
    if (outcome instanceof TenureError) this.#onError(outcome)
    else if (outcome.kind === 'rejected') {
      if (meaningOf(outcome.reason) === 'misuse') this.#listener.misused(outcome)
      this.#rest(new RejectedError(outcome))
    } else {
      this.#pauseMs = firstPauseMs
      this.#refusedSinceMs = undefined
      // Or empty: there was no task in all that time. The next poll goes on waiting.
      if (outcome.kind === 'leased') this.#listener.granted(outcome, sentAtMs)
    }
  }

  #onError(error: TenureError): void {
    // The link connects again by itself, and sends the next poll when it has.
    if (error.code !== 'CLIENT_DISCONNECTED') this.#rest(error)
    else {
      this.#pauseMs = firstPauseMs
      this.#refusedSinceMs = undefined
    }
  }

  /** One pause for all of them: what meets one poll meets the others. */
  #rest(error: TenureError): void {
    if (this.#mode !== 'asking') return
    this.#mode = 'resting'
    const { link, giveUpAfterMs } = this.#options
    this.#refusedSinceMs ??= link.clock.monotonicMs()
    const askedMs = error instanceof RejectedError ? error.retryAfterMs : undefined
    const leftMs = giveUpAfterMs - this.#refusedForMs
    const retryInMs = Math.max(0, Math.min(askedMs ?? this.#pauseMs, leftMs))
    if (askedMs === undefined) this.#pauseMs = Math.min(pauseMsMax, this.#pauseMs * 2)
    this.#listener.failed(error, retryInMs)
    this.#timer = link.clock.setTimer(retryInMs, () => this.#comeBack(error))
  }

  #comeBack(error: TenureError): void {
    const { giveUpAfterMs } = this.#options
    if (this.#refusedForMs >= giveUpAfterMs) {
      const message = `every lease request was refused for ${giveUpAfterMs} ms (the last: ${error.message}); check why the coordinator rejects them, or raise options.giveUpAfterMs`
      this.#listener.gaveUp(new WorkerError('WORKER_GAVE_UP', message, { cause: error }))
      return
    }
    this.#mode = 'asking'
    this.fill()
  }

  /** Below 0 when none is. */
  get #refusedForMs(): number {
    const sinceMs = this.#refusedSinceMs ?? Number.POSITIVE_INFINITY
    return this.#options.link.clock.monotonicMs() - sinceMs
  }
}
