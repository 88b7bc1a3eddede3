import { type Link, type NewRequest, RejectedError, TenureError } from '@tenure/client'
import type { Answer, Leased, Rejected } from '@tenure/protocol'
import type { Timer } from '@tenure/seams'
import { WorkerError } from '../errors.js'
import { meaningOf } from '../refusals.js'

export interface PollsOptions {
  readonly link: Link
  readonly queues: readonly string[]
  /** Maximum time a poll waits for a task. */
  readonly waitMs: number
  /** Maximum time during which every poll is rejected. */
  readonly giveUpAfterMs: number
}

export interface PollsListener {
  /** Number of tasks that could be started now. */
  freeSlots(): number
  granted(lease: Leased, sentAtMs: number): void
  /** A poll failed or was rejected; the next one follows after a pause. */
  failed(error: TenureError, retryInMs: number): void
  /** A poll was rejected because of a bug or misuse. Polls continue after a pause unless withdrawn. */
  misused(answer: Rejected): void
  /** Every poll was rejected for too long; no more polls are sent. */
  gaveUp(error: WorkerError): void
  /** After `withdraw`: no more tasks can arrive. */
  withdrawn(): void
}

/** More concurrent polls would not get tasks sooner. */
const pollsMax = 64
const firstPauseMs = 1000
const pauseMsMax = 30_000

/**
 * Requests tasks with one poll per free slot, so that each granted task can run immediately. Polls wait at
 * the coordinator, so that a new task is granted without delay.
 */
export class Polls {
  readonly #options: PollsOptions
  readonly #listener: PollsListener
  readonly #request: NewRequest
  /** Number of polls neither answered nor given up. */
  #open = 0
  /** Ids of polls that the coordinator may still answer with a task. */
  readonly #sent = new Set<number>()
  #mode: 'asking' | 'resting' | 'withdrawn' = 'asking'
  /** Pause if the coordinator names none; doubles each time. */
  #pauseMs = firstPauseMs
  /** Since when every answered poll was rejected. */
  #refusedSinceMs: number | undefined
  /** Set while resting. */
  #timer: Timer | undefined

  constructor(options: PollsOptions, listener: PollsListener) {
    this.#options = options
    this.#listener = listener
    const { queues, waitMs } = options
    this.#request = { kind: 'lease', queues, waitMs }
  }

  /** Whether a task may still arrive. */
  get arePending(): boolean {
    return this.#sent.size > 0
  }

  /** Sends a poll for each free slot. */
  fill(): void {
    if (this.#mode !== 'asking') return
    const wanted = Math.min(pollsMax, this.#listener.freeSlots())
    while (this.#open < wanted) this.#poll()
  }

  /** Sends no more polls and ends the waiting ones. A grant may still arrive. */
  withdraw(): void {
    this.#mode = 'withdrawn'
    this.#timer?.cancel()
    // Only the answers to the polls themselves matter.
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
      // An empty answer means that no task appeared during the wait; the next poll continues.
      if (outcome.kind === 'leased') this.#listener.granted(outcome, sentAtMs)
    }
  }

  #onError(error: TenureError): void {
    // The link reconnects by itself and then sends the next poll.
    if (error.code !== 'CLIENT_DISCONNECTED') this.#rest(error)
    else {
      this.#pauseMs = firstPauseMs
      this.#refusedSinceMs = undefined
    }
  }

  /** One pause for all polls, because the cause of a failure affects all of them. */
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
      const message = `every lease request was rejected for ${giveUpAfterMs} ms (the last: ${error.message}); check why the coordinator rejects them, or raise options.giveUpAfterMs`
      this.#listener.gaveUp(new WorkerError('WORKER_GAVE_UP', message, { cause: error }))
      return
    }
    this.#mode = 'asking'
    this.fill()
  }

  /** -Infinity if the last answer was not a rejection. */
  get #refusedForMs(): number {
    const sinceMs = this.#refusedSinceMs ?? Number.POSITIVE_INFINITY
    return this.#options.link.clock.monotonicMs() - sinceMs
  }
}
