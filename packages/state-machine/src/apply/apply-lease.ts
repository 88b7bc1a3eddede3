import type { LeaseExpired, LeaseExtended, LeaseGranted } from '../record.js'
import { beginAttempt, endAttempt } from '../state/attempts.js'
import { move } from '../state/due-lists.js'
import { findOwned, type State } from '../state/state.js'
import { outcomes } from '../store/attempt-rows.js'
import { states } from '../store/task-rows.js'
import { refuse, requireOwned, requireTask } from './preconditions.js'

/** 000 §4.2, 003 §2: the only record that gives a task an owner. */
export function applyLeaseGranted(state: State, lsn: number, record: LeaseGranted): void {
  const { tasks, attempts, counters } = state.authoritative
  const { at, leaseId, attempt, leaseExpiry } = record
  const row = requireTask(state, lsn, record)
  const eligibleAt = tasks.due.get(row)
  if (eligibleAt > at) {
    refuse(record, lsn, 'task must be eligible', at, eligibleAt, 'at least')
  }
  const nextAttempt = tasks.attempt.get(row) + 1
  if (attempt !== nextAttempt) {
    refuse(record, lsn, 'attempt must equal previous_attempt + 1', attempt, nextAttempt)
  }
  if (leaseId !== lsn) refuse(record, lsn, 'lease_id must equal the LSN', leaseId, lsn)
  if (leaseExpiry <= at) {
    refuse(record, lsn, 'lease_expiry must be after at', leaseExpiry, at, 'more than')
  }
  const windowEnd = at + tasks.executionWindowMs.get(row)
  if (leaseExpiry > windowEnd) {
    refuse(
      record,
      lsn,
      'lease_expiry must be within the execution window',
      leaseExpiry,
      windowEnd,
      'at most',
    )
  }
  attempts.makeRoom()

  const previous = tasks.newestAttempt.get(row)
  counters.leasesGranted++
  if (previous !== 0 && attempts.outcome.get(previous) === outcomes.EXPIRED) {
    counters.possibleDuplicates++
    // The worker of the expired attempt has shown that it was still running, so this grant makes a
    // second execution.
    if (attempts.cancelled.get(previous) !== 0) counters.confirmedDuplicates++
  }
  move(state, row, states.LEASED, leaseExpiry, at)
  beginAttempt(state, row, record)
}

/** 000 §4.3, 003 §3: extends the lease. No state changes. */
export function applyLeaseExtended(state: State, lsn: number, record: LeaseExtended): void {
  const { tasks, attempts, counters } = state.authoritative
  const { leased } = state.derived
  const { at, leaseId, newLeaseExpiry } = record
  const row = findOwned(state, leaseId)
  if (row === 0) refuse(record, lsn, 'lease must exist', 'none', leaseId, 'lease')
  const expiry = tasks.due.get(row)
  if (at >= expiry) {
    refuse(record, lsn, 'lease must be currently valid', at, expiry, 'less than')
  }
  if (newLeaseExpiry <= expiry) {
    refuse(record, lsn, 'new expiry must be > current expiry', newLeaseExpiry, expiry, 'more than')
  }
  const attempt = tasks.newestAttempt.get(row)
  const windowEnd = attempts.grantedAt.get(attempt) + tasks.executionWindowMs.get(row)
  if (newLeaseExpiry > windowEnd) {
    refuse(
      record,
      lsn,
      'new expiry must be within the execution window',
      newLeaseExpiry,
      windowEnd,
      'at most',
    )
  }

  counters.leasesExtended++
  attempts.leaseExpiry.set(attempt, newLeaseExpiry)
  leased.leave(row)
  tasks.due.set(row, newLeaseExpiry)
  leased.join(row, Number.POSITIVE_INFINITY)
}

/** 000 §4.4, 003 §5: the lease ends by timeout. The task is WAITING again and eligible immediately. */
export function applyLeaseExpired(state: State, lsn: number, record: LeaseExpired): void {
  const { tasks, counters } = state.authoritative
  const { at, atStart } = record
  const row = requireOwned(state, lsn, record)
  const expiry = tasks.due.get(row)
  if (at < expiry) {
    refuse(record, lsn, 'lease must have reached its expiry', at, expiry, 'at least')
  }

  counters.leasesExpired++
  // No coordinator was running to receive heartbeats, so this expiry says nothing about the task.
  if (atStart) counters.leasesExpiredAtStart++
  else tasks.expiriesInARow.set(row, tasks.expiriesInARow.get(row) + 1)
  endAttempt(state, row, outcomes.EXPIRED, at)
  move(state, row, states.WAITING, at, at)
}
