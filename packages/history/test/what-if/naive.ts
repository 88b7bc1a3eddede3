import type { LogRecord } from '@tenure/state-machine'
import type { Entry, WhatIfKnobs } from '../../src/index.js'

/** One attempt with all its events. */
interface Attempt {
  readonly signs: { readonly at: number; readonly expiry: number }[]
  end?: { readonly type: LogRecord['type']; readonly at: number }
  lateAt?: number
}

interface Task {
  readonly attempts: Attempt[]
  readonly policy: { readonly maxRetries: number }
  deadAt?: number
  isPoison?: boolean
}

/** A second implementation, without windows and restarts, that uses the whole history. */
export function naiveForecast(entries: readonly Entry[], knobs: WhatIfKnobs) {
  const logEndAt = entries.at(-1)!.record.at
  const sum = { executions: 0, leasesExpired: 0, lateReports: 0, failures: 0, tasksCompleted: 0 }
  const more = { tasksFailed: 0, tasksPoisoned: 0, tasksStopped: 0, tasksUnknown: 0 }
  const counts = { ...sum, ...more }
  const recoveries: number[] = []
  for (const { attempts, policy, deadAt, isPoison } of tasksOf(entries)) {
    const maxRetries = knobs.maxRetries ?? policy.maxRetries
    let [failures, row, recordedRow] = [0, 0, 0]
    let over: string | undefined
    for (const attempt of attempts) {
      const { end, lateAt } = attempt
      recordedRow = end?.type === 'LeaseExpired' ? recordedRow + 1 : 0
      if (over !== undefined) continue
      counts.executions++
      const lost = lossOf(attempt, knobs.leaseDurationMs, logEndAt)
      if (lost !== undefined) {
        counts.leasesExpired++
        recoveries.push(lost)
        row++
        if (lateAt !== undefined || isReport(end?.type)) counts.lateReports++
        if (knobs.poisonThreshold && row >= knobs.poisonThreshold) over = 'tasksPoisoned'
        continue
      }
      if (end?.type === 'TaskCompleted' || end?.type === 'LeaseExpired') over = 'tasksCompleted'
      if (end?.type === 'TaskDead') over = 'tasksStopped'
      if (lateAt !== undefined && end?.type === 'TaskDead') counts.lateReports++
      if (end?.type !== 'TaskFailed') continue
      row = 0
      counts.failures++
      failures++
      if (failures > maxRetries) over = 'tasksFailed'
    }
    const last = attempts.at(-1)?.end?.type
    const failed = attempts.filter(({ end }) => end?.type === 'TaskFailed').length
    const isEnded =
      last === 'TaskCompleted' || (last === 'TaskFailed' && failed > policy.maxRetries)
    if (over === undefined && deadAt !== undefined) {
      if (!isPoison) over = 'tasksStopped'
      else if (knobs.poisonThreshold === undefined && row >= recordedRow) over = 'tasksPoisoned'
    }
    if (over === undefined && (isEnded || isPoison)) {
      counts.executions++
      over = 'tasksUnknown'
    }
    if (over !== undefined) counts[over as keyof typeof counts]++
  }
  return { counts, recoveries }
}

/** How long after the last sign of life the lease is lost, if it is lost. */
function lossOf({ signs, end, lateAt }: Attempt, durationMs: number | undefined, logEndAt: number) {
  for (const [index, { at, expiry }] of signs.entries()) {
    const recorded = expiry - at
    const duration = durationMs ?? recorded
    const isLast = index === signs.length - 1
    const wasLost = isLast && end?.type === 'LeaseExpired'
    const next = isLast ? (wasLost ? lateAt : (end?.at ?? logEndAt)) : signs[index + 1]!.at
    const delay = wasLost ? end.at - expiry : 0
    if (next === undefined) return duration + delay
    const late = next - at - Math.round(recorded / 3)
    if (late > 0 && Math.round(duration / 3) + late >= duration) return duration + delay
  }
  return undefined
}

function isReport(type: LogRecord['type'] | undefined): boolean {
  return type === 'TaskCompleted' || type === 'TaskFailed'
}

function tasksOf(entries: readonly Entry[]): Iterable<Task> {
  const tasks = new Map<number, Task>()
  const attempts = new Map<number, Attempt>()
  for (const { record } of entries) {
    const { type, at } = record
    if (type === 'TaskCreated') {
      tasks.set(record.taskId, { attempts: [], policy: record.retryPolicy })
    } else if (type === 'LeaseGranted') {
      const attempt = { signs: [{ at, expiry: record.leaseExpiry }] }
      attempts.set(record.leaseId, attempt)
      tasks.get(record.taskId)!.attempts.push(attempt)
    } else if (type === 'LeaseExtended') {
      attempts.get(record.leaseId)!.signs.push({ at, expiry: record.newLeaseExpiry })
    } else if (type === 'TaskDead') {
      const task = tasks.get(record.taskId)!
      task.deadAt = at
      task.isPoison = record.reason.startsWith('poison')
      const last = task.attempts.at(-1)
      if (last !== undefined) last.end ??= { type, at }
    } else if (type === 'TaskCancelled') {
      attempts.get(record.leaseId)!.lateAt = at
    } else if (type !== 'TasksForgotten') {
      attempts.get(record.leaseId)!.end = { type, at }
    }
  }
  return tasks.values()
}
