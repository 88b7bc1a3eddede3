import type { AttemptTracker, Entry, TrackedAttempt } from '@tenure/history'
import type { Recording } from './recording.js'

/** Which part of a recording: tasks that are left out do not exist for those who follow. */
export interface Which {
  readonly lastLsn?: number
  readonly onlyTasks?: ReadonlySet<number> | undefined
}

/** What is told with each record: it, and the attempt that it is about. */
export interface Step extends Entry {
  readonly attempt: TrackedAttempt | undefined
}

/**
 * A recording record by record. Heartbeats are not given to the tracker, which would keep all of
 * them; whoever follows decides which attempts it still has to know.
 */
export async function* follow(
  recording: Recording,
  tracker: AttemptTracker,
  { lastLsn = Number.POSITIVE_INFINITY, onlyTasks }: Which,
): AsyncGenerator<Step> {
  for await (const entries of recording.read()) {
    for (const entry of entries) {
      const { lsn, record } = entry
      if (lsn > lastLsn) return
      if (record.type === 'LeaseExtended') {
        const attempt = tracker.get(record.leaseId)
        if (attempt !== undefined) yield { lsn, record, attempt }
      } else if (record.type === 'TasksForgotten' || onlyTasks?.has(record.taskId) !== false) {
        yield { lsn, record, attempt: tracker.add(entry) }
      }
    }
  }
}

/** The tasks that were leased more than once. */
export async function findTwice(recording: Recording, lastLsn?: number): Promise<Set<number>> {
  const twice = new Set<number>()
  for await (const entries of recording.read()) {
    for (const { lsn, record } of entries) {
      if (lastLsn !== undefined && lsn > lastLsn) return twice
      if (record.type === 'LeaseGranted' && record.attempt > 1) twice.add(record.taskId)
    }
  }
  return twice
}
