import { editOf, type Fault } from './fault.js'

const test = 'packages/state-machine/test/preconditions.test.ts'

/** A precondition, as the first words of its test: `record: rule`. */
type Precondition = readonly [record: string, rule: string, file: string, old: string, bad?: string]

const always = 'if (false) {'

/** The rule, and the condition that rejects the record for it. */
const preconditions: readonly Precondition[] = [
  [
    'TaskCreated',
    'LSN must follow the last one',
    'apply',
    'if (lsn !== authoritative.lastLsn + 1) {',
  ],
  ['TaskCreated', 'at must never decrease', 'apply', 'if (record.at < authoritative.lastAt) {'],
  [
    'TaskCreated',
    'task_id must not already exist',
    'apply-task',
    'if (findTask(state, taskId) !== 0) {',
  ],
  ['TaskCreated', 'task_id must equal the LSN', 'apply-task', 'if (taskId !== lsn)', 'if (false)'],
  ['TaskCreated', 'request_id must not belong to another task', 'apply-task', 'if (other !== 0) {'],
  ['LeaseGranted', 'task must exist', 'preconditions', 'if (row === 0)', 'if (false)'],
  ['LeaseGranted', 'task must be eligible', 'apply-lease', 'if (eligibleAt > at) {'],
  [
    ...(['LeaseGranted', 'attempt must equal previous_attempt + 1', 'apply-lease'] as const),
    'if (attempt !== nextAttempt) {',
  ],
  [
    'LeaseGranted',
    'lease_id must equal the LSN',
    'apply-lease',
    'if (leaseId !== lsn)',
    'if (false)',
  ],
  ['LeaseGranted', 'lease_expiry must be after at', 'apply-lease', 'if (leaseExpiry <= at) {'],
  [
    ...([
      'LeaseGranted',
      'lease_expiry must be within the execution window',
      'apply-lease',
    ] as const),
    'if (leaseExpiry > windowEnd) {',
  ],
  ['LeaseExtended', 'lease must exist', 'apply-lease', 'if (row === 0)', 'if (false)'],
  ['LeaseExtended', 'lease must be currently valid', 'apply-lease', 'if (at >= expiry) {'],
  [
    'LeaseExtended',
    'new expiry must be > current expiry',
    'apply-lease',
    'if (newLeaseExpiry <= expiry) {',
  ],
  [
    ...([
      'LeaseExtended',
      'new expiry must be within the execution window',
      'apply-lease',
    ] as const),
    'if (newLeaseExpiry > windowEnd) {',
  ],
  ['LeaseExpired', 'lease must have reached its expiry', 'apply-lease', 'if (at < expiry) {'],
  ...(['LeaseExpired', 'TaskCompleted', 'TaskFailed'] as const).map(
    (record): Precondition => [
      ...([record, 'lease_id must match current lease', 'preconditions'] as const),
      'if (record.leaseId !== current) {',
    ],
  ),
  ...(['TaskCompleted', 'TaskFailed'] as const).map(
    (record): Precondition => [
      ...([record, 'lease must not be expired', 'apply-report'] as const),
      'if (record.at >= expiry) {',
    ],
  ),
  [
    'TaskCancelled',
    'lease must have been granted for the task',
    'apply-report',
    'if (attempt === 0) {',
  ],
  [
    ...(['TaskCancelled', 'lease must have lost its authority', 'apply-report'] as const),
    'if (outcome !== outcomes.EXPIRED && outcome !== outcomes.DEAD) {',
  ],
  [
    ...(['TaskCancelled', 'lease must not have been cancelled before', 'apply-report'] as const),
    'if (attempts.cancelled.get(attempt) !== 0) {',
  ],
  [
    'TasksForgotten',
    'through must lie before the record',
    'apply-task',
    'if (through >= lsn)',
    'if (false)',
  ],
]

/**
 * A record and a task state: the changed table of transitions allows the record in that state,
 * against the rule.
 */
const transitions: readonly (readonly [record: string, state: string, rule: string])[] = [
  ['LeaseGranted', 'LEASED', 'task must be in WAITING state'],
  ['LeaseGranted', 'COMPLETED', 'task must be in WAITING state'],
  ['LeaseExpired', 'WAITING', 'task must be in LEASED state'],
  ['TaskCompleted', 'WAITING', 'task must be in LEASED state'],
  ['TaskFailed', 'WAITING', 'task must be in LEASED state'],
  ['TaskDead', 'FAILED', 'task must not be terminal'],
]

export const preconditionFaults: readonly Fault[] = [
  ...preconditions.map(
    ([record, rule, file, old, bad = always]): Fault => ({
      name: `${record} is not rejected: ${rule}`,
      test: [test, `${record}: ${rule}`],
      edits: editOf('state-machine', `apply/${file}`)(old, bad),
    }),
  ),
  ...transitions.map(
    ([record, state, rule]): Fault => ({
      name: `${record} is allowed for a ${state} task`,
      test: [test, `${record} of a ${state} task: ${rule}`],
      edits: editOf('state-machine', 'apply/transitions')(
        `${record}: {\n        from: [`,
        `${record}: {\n        from: ['${state}', `,
      ),
    }),
  ),
  {
    name: 'the state of a task is not checked',
    test: [test, 'TaskCompleted of a COMPLETED task: task must be in LEASED state'],
    edits: editOf('state-machine', 'apply/preconditions')(
      'if (mayFind[record.type][found])',
      'if (true)',
    ),
  },
  {
    name: 'TasksForgotten may drop a LEASED task',
    test: [test, 'the table of transitions equals the specification'],
    edits: editOf('state-machine', 'apply/transitions')(
      'TasksForgotten: {\n        from: [',
      "TasksForgotten: {\n        from: ['LEASED', ",
    ),
  },
]
