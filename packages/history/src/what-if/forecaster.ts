import type { Entry } from '../follow/entry.js'
import { omitUndefined } from '../omit-undefined.js'
import { AttemptTracker, type TrackedAttempt } from '../task/attempts.js'
import { Changes } from './changes.js'
import { type AttemptStep, FollowedTask } from './followed-task.js'
import type { Forecast, ForecastOptions } from './forecast.js'
import { judge, type Terms } from './judgement.js'
import { checkKnobs, defaultHeartbeatShare, type WhatIfKnobs } from './knobs.js'
import { RecordedTime } from './recorded-time.js'
import { Submissions, type Submitted } from './submissions.js'
import { TaskComparison } from './task-comparison.js'
import { Tally, TaskScenario } from './task-scenario.js'

/** Follows all tasks through their records, and drops each task when its result is final. */
export class Forecaster {
  readonly #knobs: WhatIfKnobs & { readonly heartbeatShare: number }
  readonly #time: RecordedTime
  readonly #submissions = new Submissions()
  readonly #attempts = new AttemptTracker()
  readonly #tasks = new Map<number, FollowedTask>()
  /**
   * Roughly in the order in which their results become final. A result that waits for another one
   * is reported later.
   */
  readonly #pending = new Set<{ readonly at: number; readonly followed: FollowedTask }>()
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
    this.#knobs = { ...omitUndefined<WhatIfKnobs>(knobs), heartbeatShare }
    this.#time = new RecordedTime(openings)
    this.#changes = new Changes(examplesMax)
  }

  add(entry: Entry): void {
    const { record } = entry
    this.#time.pass(entry)
    this.#tellSettled()
    if (record.type === 'TasksForgotten') return
    if (record.type === 'TaskCreated') {
      this.#counts.tasks++
      this.#submissions.add(record)
    } else if (record.type === 'LeaseExtended') {
      this.#noteDuration(this.#attempts.add(entry))
    } else if (record.taskId < this.#time.firstLsn!) {
      this.#leftOut.add(record.taskId)
    } else {
      this.#addToTask(entry, record.taskId)
    }
  }

  /** How many tasks are kept because later records may concern them. */
  get followed(): number {
    return this.#tasks.size
  }

  finish(): Forecast {
    for (const followed of this.#tasks.values()) {
      this.#tell(followed, true)
      this.#close(followed)
    }
    const { records, firstAt, now } = this.#time
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
      const followed = this.#tasks.get(taskId)!
      const at = followed.finalAt(attempt)
      if (at > this.#time.now) this.#pending.add({ at, followed })
    }
    const followed = this.#tasks.get(taskId)
    if (followed !== undefined) this.#tell(followed)
  }

  #begin(attempt: TrackedAttempt): void {
    this.#noteDuration(attempt)
    const submitted = this.#submissions.get(attempt.taskId)!
    const followed = this.#follow(attempt.taskId, submitted)
    followed.add({ kind: 'attempt', attempt, terms: this.#termsOf(submitted) })
  }

  #stop(taskId: number, at: number, reason: string): void {
    const submitted = this.#submissions.get(taskId)
    if (submitted === undefined) return
    const isPoison = poisonReason.test(reason)
    this.#follow(taskId, submitted).add({ kind: 'stop', at, isPoison })
  }

  /** A report without effect: its lease would be gone under the knobs, too, or was never granted. */
  #reportLate(leaseId: number): void {
    this.#recorded.counts.lateReports++
    if (!this.#fallenAway.delete(leaseId)) this.#under.counts.lateReports++
  }

  #follow(taskId: number, { retryPolicy }: Submitted): FollowedTask {
    const known = this.#tasks.get(taskId)
    if (known !== undefined) return known
    const {
      maxRetries = retryPolicy.maxRetries,
      backoff = retryPolicy.backoff,
      poisonThreshold = 0,
    } = this.#knobs
    // The recorded side takes stops from the record, so it needs no threshold.
    const recorded = new TaskScenario(this.#recorded, retryPolicy, 0)
    const under = new TaskScenario(this.#under, { maxRetries, backoff }, poisonThreshold)
    const followed = new FollowedTask(taskId, new TaskComparison(taskId, recorded, under))
    this.#tasks.set(taskId, followed)
    return followed
  }

  #tellSettled(): void {
    for (const pending of this.#pending) {
      if (pending.at > this.#time.now) break
      this.#pending.delete(pending)
      this.#tell(pending.followed)
    }
  }

  #tell(followed: FollowedTask, isEnd = false): void {
    const { comparison } = followed
    for (;;) {
      const step = followed.take(this.#time.now, isEnd)
      if (step === undefined) break
      if (step.kind === 'attempt') this.#tellAttempt(comparison, step)
      else comparison.stop(step.at, step.isPoison, this.#knobs.poisonThreshold === undefined)
    }
    if (comparison.hasEnded) this.#close(followed)
  }

  #tellAttempt(comparison: TaskComparison, { attempt, terms }: AttemptStep): void {
    const { now, outages } = this.#time
    const judgement = judge(attempt, terms, outages, now)
    if (comparison.isOver) {
      if (attempt.lateReport === undefined) this.#fallenAway.add(attempt.leaseId)
    } else if (judgement.kind === 'accepted') {
      this.#counts.lateReportsAccepted++
    } else if (judgement.isUncertain) {
      this.#counts.attemptsUncertain++
    }
    comparison.step(attempt, judgement, now)
    this.#attempts.forget(attempt.leaseId)
  }

  #close({ taskId, comparison }: FollowedTask): void {
    // A waiting task may already have ended.
    if (!this.#tasks.delete(taskId)) return
    this.#submissions.delete(taskId)
    const change = comparison.close(this.#time.now)
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
