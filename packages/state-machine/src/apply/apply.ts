import { describe } from '@tenure/options'
import { check } from '../errors.js'
import { checkShape } from '../record/record-shape.js'
import type { LogRecord } from '../record.js'
import type { State } from '../state/state.js'
import { isWholeOf } from '../values.js'
import { applyLeaseExpired, applyLeaseExtended, applyLeaseGranted } from './apply-lease.js'
import { applyTaskCancelled, applyTaskCompleted, applyTaskFailed } from './apply-report.js'
import { applyTaskCreated, applyTaskDead, applyTasksForgotten } from './apply-task.js'
import { refuse } from './preconditions.js'

/**
 * Applies one record. This is the only code that changes tasks and leases: live, in replay, for a
 * checkpoint and in every tool.
 *
 * It uses no clock. It compares the record's `at` with times from earlier records. Every
 * precondition is checked every time. A record that fails one throws an `InvariantViolation` and
 * changes nothing.
 */
export function apply(state: State, lsn: number, record: LogRecord): void {
  const { authoritative } = state
  checkShape(record)
  if (!isWholeOf(lsn, 1, Number.MAX_SAFE_INTEGER))
    throw check.refusal('lsn', describe(lsn), 'an LSN')
  if (lsn !== authoritative.lastLsn + 1) {
    refuse(record, lsn, 'LSN must follow the last one', lsn, authoritative.lastLsn + 1)
  }
  if (record.at < authoritative.lastAt) {
    refuse(record, lsn, 'at must never decrease', record.at, authoritative.lastAt, 'at least')
  }
  applyByType(state, lsn, record)
  authoritative.lastLsn = lsn
  authoritative.lastAt = record.at
}

/**
 * Skips a gap that the log declares. `nextLsn` is the LSN of the next record. No record has or will
 * have the skipped LSNs.
 */
export function skipTo(state: State, nextLsn: number): void {
  const { lastLsn } = state.authoritative
  if (!Number.isSafeInteger(nextLsn) || nextLsn <= lastLsn) {
    throw check.refusal('nextLsn', describe(nextLsn), `an LSN above ${lastLsn}`)
  }
  state.authoritative.lastLsn = nextLsn - 1
}

function applyByType(state: State, lsn: number, record: LogRecord): void {
  switch (record.type) {
    case 'TaskCreated':
      applyTaskCreated(state, lsn, record)
      break
    case 'LeaseGranted':
      applyLeaseGranted(state, lsn, record)
      break
    case 'LeaseExtended':
      applyLeaseExtended(state, lsn, record)
      break
    case 'LeaseExpired':
      applyLeaseExpired(state, lsn, record)
      break
    case 'TaskCompleted':
      applyTaskCompleted(state, lsn, record)
      break
    case 'TaskFailed':
      applyTaskFailed(state, lsn, record)
      break
    case 'TaskCancelled':
      applyTaskCancelled(state, lsn, record)
      break
    case 'TaskDead':
      applyTaskDead(state, lsn, record)
      break
    case 'TasksForgotten':
      applyTasksForgotten(state, lsn, record)
      break
  }
}
