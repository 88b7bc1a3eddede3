import { InvariantViolation } from '../errors.js'
import type { LogRecord, RecordType } from '../record.js'
import { findTask, type State } from '../state/state.js'

import { type TaskState, taskStates } from '../task.js'
import { transitions } from './transitions.js'

/** Refuses the record. Every precondition is asked before the first change. */
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

/** Which of the states, by number, the record may find its task in. */
const mayFind = Object.fromEntries(
  Object.entries(transitions).map(([type, { from }]) => [
    type,
    taskStates.map((state) => (from as readonly TaskState[]).includes(state)),
  ]),
) as unknown as { readonly [T in RecordType]: readonly boolean[] }

/** The row of the task, in a state that the record may find it in. */
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

/** The row of the task, owned under the lease that the record names. */
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
