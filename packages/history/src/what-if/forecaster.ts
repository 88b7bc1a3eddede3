import type { Entry } from '../follow/entry.js'
import { omitUndefined } from '../omit-undefined.js'
import { AttemptTracker, type TrackedAttempt } from '../task/attempts.js'
import { Changes } from './changes.js'
import type { Forecast, ForecastOptions } from './forecast.js'
import { Fork } from './fork.js'
import { judge, type Terms } from './judgement.js'
import { checkKnobs, defaultHeartbeatShare, type WhatIfKnobs } from './knobs.js'
import { Passage } from './passage.js'
import { Side, Tally } from './side.js'
import { Submissions, type Submitted } from './submissions.js'
import { type AttemptStep, Thread } from './thread.js'

/** Follows all tasks through their records, and drops each task when its result is final. */
export class Forecaster {
  readonly #knobs: WhatIfKnobs & { readonly heartbeatShare: number }
  readonly #passage: Passage
  readonly #submissions = new Submissions()
  readonly #attempts = new AttemptTracker()
  readonly #threads = new Map<number, Thread>()
  /**
   * Roughly in the order in which their results become final. A result that waits for another one
   * is reported later.
   */
  readonly #unsettled = new Set<{ readonly at: number; readonly thread: Thread }>()
  /** Leases that would not have been granted. Late reports with them may still be in the record. */
  readonly #fallenAway = new Set<number>()
  readonly #leftOut = new Set<number>()
  readonly #recorded = new Tally()
  readonly #under = new Tally()
  readonly #changes: Changes
  #usualDurationMs: number | undefined
  readonly #counts = { tasks: 0, tasksChanged: 0, lateReportsAccepted: 0, attemptsUncertain: 0 }

  constructor(knobs: WhatIfKnobs, { openings = [], examplesMax = 3 }: ForecastOptions = {}) {
    checkKnobs(knobs)
    const { heartbeatShare = defaultHeartbeatShare } = knobs
    this.#knobs = { ...known(knobs), heartbeatShare }
    this.#passage = new Passage(openings)
    this.#changes = new Changes(examplesMax)
  }

  add(entry: Entry): void {
    const { record } = entry
    this.#passage.pass(entry)
    this.#tellSettled()
    if (record.type === 'TasksForgotten') return
    if (record.type === 'TaskCreated') {
      this.#counts.tasks++
      this.#submissions.add(record)
    } else if (record.type === 'LeaseExtended') {
      this.#noteDuration(this.#attempts.add(entry))
    } else if (record.taskId < this.#passage.firstLsn!) {
      this.#leftOut.add(record.taskId)
    } else {
      this.#addToTask(entry, record.taskId)
    }
  }

  /** How many tasks are kept because later records may concern them. */
  get followed(): number {
    return this.#threads.size
  }

  finish(): Forecast {
    for (const thread of this.#threads.values()) {
      this.#tell(thread, true)
      this.#close(thread)
    }
    const { records, firstAt, now } = this.#passage
    return omitUndefined<Forecast>({
      knobs: this.#knobs,
      records,
      firstAt: records > 0 ? firstAt : undefined,
      lastAt: records > 0 ? now : undefined,
      ...this.#counts,
      tasksLeftOut: this.#leftOut.size,
      recorded: this.#recorded.outcomes(),
      underKnobs: this.#under.outcomes(),
      differences: this.#changes.differences(),
      examples: this.#changes.examples(),
    })
  }

  #addToTask(entry: Entry, taskId: number): void {
    const { record } = entry
    const attempt = this.#attempts.add(entry)
    if (attempt === undefined) {
      if (record.type === 'TaskDead') this.#stop(taskId, record.at, record.reason)
      if (record.type === 'TaskCancelled') this.#reportLate(record.leaseId)
    } else if (record.type === 'LeaseGranted') {
      this.#begin(attempt)
    } else if (record.type === 'LeaseExpired') {
      const thread = this.#threads.get(taskId)!
      const at = thread.settledAt(attempt)
      if (at > this.#passage.now) this.#unsettled.add({ at, thread })
    }
    const thread = this.#threads.get(taskId)
    if (thread !== undefined) this.#tell(thread)
  }

  #begin(attempt: TrackedAttempt): void {
    this.#noteDuration(attempt)
    const submitted = this.#submissions.get(attempt.taskId)!
    const thread = this.#threadOf(attempt.taskId, submitted)
    thread.add({ kind: 'attempt', attempt, terms: this.#termsOf(submitted) })
  }

  #stop(taskId: number, at: number, reason: string): void {
    const submitted = this.#submissions.get(taskId)
    if (submitted === undefined) return
    const isPoison = poisonReason.test(reason)
    this.#threadOf(taskId, submitted).add({ kind: 'stop', at, isPoison })
  }

  /** A report without effect: its lease would be gone under the knobs, too, or was never granted. */
  #reportLate(leaseId: number): void {
    this.#recorded.counts.lateReports++
    if (!this.#fallenAway.delete(leaseId)) this.#under.counts.lateReports++
  }

  #threadOf(taskId: number, { retryPolicy }: Submitted): Thread {
    const known = this.#threads.get(taskId)
    if (known !== undefined) return known
    const {
      maxRetries = retryPolicy.maxRetries,
      backoff = retryPolicy.backoff,
      poisonThreshold = 0,
    } = this.#knobs
    // The recorded side takes stops from the record, so it needs no threshold.
    const recorded = new Side(this.#recorded, retryPolicy, 0)
    const under = new Side(this.#under, { maxRetries, backoff }, poisonThreshold)
    const thread = new Thread(taskId, new Fork(taskId, recorded, under))
    this.#threads.set(taskId, thread)
    return thread
  }

  #tellSettled(): void {
    for (const unsettled of this.#unsettled) {
      if (unsettled.at > this.#passage.now) break
      this.#unsettled.delete(unsettled)
      this.#tell(unsettled.thread)
    }
  }

  #tell(thread: Thread, isEnd = false): void {
    const { fork } = thread
    for (;;) {
      const step = thread.take(this.#passage.now, isEnd)
      if (step === undefined) break
      if (step.kind === 'attempt') this.#tellAttempt(fork, step)
      else fork.stop(step.at, step.isPoison, this.#knobs.poisonThreshold === undefined)
    }
    if (fork.hasEnded) this.#close(thread)
  }

  #tellAttempt(fork: Fork, { attempt, terms }: AttemptStep): void {
    const { now, outages } = this.#passage
    const judgement = judge(attempt, terms, outages, now)
    if (fork.isOver) {
      if (attempt.lateReport === undefined) this.#fallenAway.add(attempt.leaseId)
    } else if (judgement.kind === 'accepted') {
      this.#counts.lateReportsAccepted++
    } else if (judgement.isUncertain) {
      this.#counts.attemptsUncertain++
    }
    fork.step(attempt, judgement, now)
    this.#attempts.forget(attempt.leaseId)
  }

  #close({ taskId, fork }: Thread): void {
    // A waiting task may already have ended.
    if (!this.#threads.delete(taskId)) return
    this.#submissions.delete(taskId)
    const change = fork.close(this.#passage.now)
    if (change === undefined) return
    this.#counts.tasksChanged++
    this.#changes.add(change)
  }

  /** A lease that its window cuts short does not show the lease duration. */
  #noteDuration(attempt: TrackedAttempt | undefined): void {
    if (attempt === undefined) return
    const { taskId, grantedAt, leaseExpiry, heartbeats } = attempt
    const last = heartbeats.at(-1) ?? { at: grantedAt, newLeaseExpiry: leaseExpiry }
    const windowEnd = grantedAt + this.#submissions.get(taskId)!.executionWindowMs
    if (last.newLeaseExpiry < windowEnd) this.#usualDurationMs = last.newLeaseExpiry - last.at
  }

  #termsOf({ executionWindowMs }: Submitted): Terms {
    const { leaseDurationMs, executionWindowMs: windowMs, heartbeatShare } = this.#knobs
    return {
      recordedWindowMs: executionWindowMs,
      windowMs: windowMs ?? executionWindowMs,
      leaseDurationMs,
      heartbeatShare,
      usualDurationMs: this.#usualDurationMs,
    }
  }
}

/** The text that the coordinator writes. */
const poisonReason = /^poison: \d+ leases in a row expired$/

function known(knobs: WhatIfKnobs): WhatIfKnobs {
  return Object.fromEntries(Object.entries(knobs).filter(([, value]) => value !== undefined))
}

/** Lists of entries, as returned by `History.read`, or one list. */
export type Entries = AsyncIterable<readonly Entry[]> | Iterable<readonly Entry[]>

/** Replays a history under other knobs. Reads each record once and keeps few of them. */
export async function forecast(
  entries: Entries,
  knobs: WhatIfKnobs,
  options: ForecastOptions = {},
): Promise<Forecast> {
  const forecaster = new Forecaster(knobs, options)
  let read = 0
  for await (const run of entries) {
    for (const entry of run) forecaster.add(entry)
    read += run.length
    options.onProgress?.(read)
  }
  return forecaster.finish()
}
