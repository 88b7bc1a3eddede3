import { InvariantViolation } from '../errors.js'
import type { LogRecord, RecordType } from '../record.js'
import { findTask, type State } from '../state/state.js'

import { type TaskState, taskStates } from '../task.js'
import { transitions } from './transitions.js'

/** Rejects the record. Every precondition is checked before the first change. */
export function refuse(
  record: LogRecord,
  lsn: number,
  rule: string,
  got: unknown,
  expected: unknown,
  relation = '',
): never {
  throw new InvariantViolation(record.type, lsn, rule, got, expected, relation)
}

/** For each record type: whether it allows a task in each state, by state number. */
const mayFind = Object.fromEntries(
  Object.entries(transitions).map(([type, { from }]) => [
    type,
    taskStates.map((state) => (from as readonly TaskState[]).includes(state)),
  ]),
) as unknown as { readonly [T in RecordType]: readonly boolean[] }

/** The row of the task, which must be in a state that the record allows. */
export function requireTask(
  state: State,
  lsn: number,
  record: LogRecord & { taskId: number },
): number {
  const row = findTask(state, record.taskId)
  if (row === 0) refuse(record, lsn, 'task must exist', 'none', record.taskId, 'task')
  requireState(state, lsn, record, row)
  return row
}

/** The row of the task, which the record's lease must own. */
export function requireOwned(
  state: State,
  lsn: number,
  record: LogRecord & { taskId: number; leaseId: number },
): number {
  const row = requireTask(state, lsn, record)
  const current = state.authoritative.tasks.currentLeaseId.get(row)
  if (record.leaseId !== current) {
    refuse(record, lsn, 'lease_id must match current lease', record.leaseId, current)
  }
  return row
}

function requireState({ authoritative }: State, lsn: number, record: LogRecord, row: number): void {
  const found = authoritative.tasks.state.get(row)
  if (mayFind[record.type][found]) return
  const { rule, from } = transitions[record.type]
  refuse(record, lsn, rule, taskStates[found], from.join(' or '))
}
