import { editOf, type Fault } from './fault.js'

const applied = 'packages/state-machine/test/apply.test.ts'
const lined = 'packages/state-machine/test/due-lists.test.ts'
const viewed = 'packages/state-machine/test/views.test.ts'
const coded = 'packages/state-machine/test/record-codec.test.ts'
const inARow = 'LeaseExpired: consecutive expiries are counted, but not those found at startup'
const expired =
  'LeaseExpired: the task is WAITING again, eligible immediately, and uses up no retry'
const cancelled = 'TaskCancelled: no task state changes, and the report is counted'
const forgotten =
  'TasksForgotten: exactly the terminal tasks that ended at or before the LSN are removed'
const forgettable = 'forgettableThrough removes by age and by number, up to a limit'
const same = 'a repeated submission is recognised, before and after the payload is removed'
const offered = 'eligible tasks are leased by (eligible_at, task_id), across the requested queues'

const task = editOf('state-machine', 'apply/apply-task')
const lease = editOf('state-machine', 'apply/apply-lease')
const report = editOf('state-machine', 'apply/apply-report')
const policy = editOf('options', 'retry-policy')
const lines = editOf('state-machine', 'state/queries')
const sameness = editOf('state-machine', 'state/submission')
const limits = editOf('state-machine', 'record')

/** Wrong effects of records, and wrong queries of the state: 000 §4, 003, semantics §7, §9–11. */
export const stateFaults: readonly Fault[] = [
  {
    name: 'not_before in the past makes a task eligible before its creation',
    test: [applied, 'TaskCreated: not_before delays eligibility, and a time in the past does not'],
    edits: task('Math.max(at, notBefore ?? at)', 'notBefore ?? at'),
  },
  {
    name: 'not_before has no effect',
    test: [applied, 'TaskCreated: not_before delays eligibility, and a time in the past does not'],
    edits: task('Math.max(at, notBefore ?? at)', 'at'),
  },
  {
    name: 'a task whose lease has expired is not immediately eligible',
    test: [applied, expired],
    edits: lease(
      'move(state, row, states.WAITING, at, at);',
      'move(state, row, states.WAITING, at + 1, at);',
    ),
  },
  {
    name: 'an expiry uses up a retry',
    test: [applied, expired],
    edits: lease(
      'counters.leasesExpired++;',
      'counters.leasesExpired++; tasks.failures.set(row, tasks.failures.get(row) + 1);',
    ),
  },
  {
    name: 'expiries at startup count towards poison',
    test: [applied, inARow],
    edits: lease('    else\n        tasks.expiriesInARow.set', '    tasks.expiriesInARow.set'),
  },
  {
    name: 'a failure does not reset the expiries in a row',
    test: [applied, inARow],
    edits: report(
      'tasks.failures.set(row, failures);\n    tasks.expiriesInARow.set(row, 0);',
      'tasks.failures.set(row, failures);',
    ),
  },
  {
    name: 'a completion does not reset the expiries in a row',
    test: [applied, inARow],
    edits: report(
      'counters.tasksCompleted++;\n    tasks.expiriesInARow.set(row, 0);',
      'counters.tasksCompleted++;',
    ),
  },
  {
    name: 'a failure has one retry less than its policy says',
    test: [
      applied,
      'TaskFailed: if retries remain the task is WAITING, eligible after the backoff',
    ],
    edits: report('failures <= tasks.maxRetries.get(row)', 'failures < tasks.maxRetries.get(row)'),
  },
  {
    name: 'a failure has one retry more than its policy says',
    test: [
      applied,
      'TaskFailed: if retries are exhausted the task is FAILED and keeps its payload',
    ],
    edits: report(
      'failures <= tasks.maxRetries.get(row)',
      'failures <= tasks.maxRetries.get(row) + 1',
    ),
  },
  {
    name: 'a retry does not wait for its backoff',
    test: [
      applied,
      'TaskFailed: if retries remain the task is WAITING, eligible after the backoff',
    ],
    edits: report('at + backoffMs(tasks, row, failures)', 'at'),
  },
  {
    name: 'an exponential backoff doubles once too often',
    test: [applied, 'an exponential backoff doubles up to its maximum'],
    edits: policy('Math.min(failures - 1, 53)', 'Math.min(failures, 53)'),
  },
  {
    name: 'an exponential backoff has no maximum',
    test: [applied, 'an exponential backoff doubles up to its maximum'],
    edits: policy('Math.min(backoff.maxMs, backoff', 'Math.max(0, backoff'),
  },
  {
    name: 'a late report is not recorded in its attempt',
    test: [applied, cancelled],
    edits: report('attempts.cancelled.set(attempt, 1);', ''),
  },
  {
    name: 'a late report changes the state of the task',
    test: [applied, cancelled],
    edits: report(
      'attempts.cancelled.set(attempt, 1);',
      'attempts.cancelled.set(attempt, 1); move(state, row, states.DEAD, lsn, record.at);',
    ),
  },
  {
    name: 'the attempt of a killed task stays open',
    test: [applied, 'TaskDead: a WAITING or LEASED task is stopped for good'],
    edits: task('if (tasks.state.get(row) === states.LEASED)', 'if (false)'),
  },
  {
    name: 'a task that ended exactly at the LSN is not forgotten',
    test: [applied, forgotten],
    edits: task('tasks.due.get(ended.first) <= through', 'tasks.due.get(ended.first) < through'),
  },
  {
    name: 'every task that has ended is forgotten',
    test: [applied, forgotten],
    edits: task('tasks.due.get(ended.first) <= through', 'true'),
  },
  {
    name: 'a task keeps 31 attempts',
    test: [applied, 'a task remembers its last 32 attempts; an older lease is unknown'],
    edits: editOf('state-machine', 'task')('attemptsKept = 32', 'attemptsKept = 31'),
  },
  {
    name: 'a task is offered before it is eligible',
    test: [lined, offered],
    edits: lines('tasks.due.get(first) <= now', 'true'),
  },
  {
    name: 'the first named queue is served first',
    test: [lined, offered],
    edits: lines('(first === 0 || comesBefore(tasks, row, first))', 'first === 0'),
  },
  {
    name: 'a task with a decision in flight is offered',
    test: [lined, 'a withheld task is not offered and does not expire until it is released'],
    edits: editOf('state-machine', 'state/due-lists')(
      '    leaveLine(state, row);\n    state.derived.withheld.add(row);',
      '',
    ),
  },
  {
    name: 'a task is forgotten a millisecond before its retention is over',
    test: [lined, forgettable],
    edits: lines(
      'tasks.stateSince.get(row) > endedUntil',
      'tasks.stateSince.get(row) > endedUntil + 1',
    ),
  },
  {
    name: 'one task too many is forgotten',
    test: [lined, forgettable],
    edits: lines('count >= surplus', 'count > surplus'),
  },
  {
    name: 'the number of tasks forgotten by one record is not limited',
    test: [lined, forgettable],
    edits: lines('count === limit ||', ''),
  },
  {
    name: 'another execution window counts as the same submission',
    test: [viewed, same],
    edits: sameness('executionWindowMs === tasks.executionWindowMs.get(row)', 'true'),
  },
  {
    name: 'another retry policy counts as the same submission',
    test: [viewed, same],
    edits: sameness('isSamePolicy(retryPolicy, retryPolicyOf(tasks, row))', 'true'),
  },
  {
    name: 'another not_before counts as the same submission',
    test: [viewed, same],
    edits: sameness('isSameStart(state, row, submission) &&', ''),
  },
  {
    name: 'a completed task matches a submission with any payload',
    test: [viewed, same],
    edits: sameness("kept.toString('latin1') === digest(payload)", 'true'),
  },
  {
    name: 'the maximum length of queue names is halved',
    test: [coded, 'the limits of records are fixed'],
    edits: limits('queueBytesMax: 64', 'queueBytesMax: 32'),
  },
  {
    name: 'a record of another version is skipped',
    test: [coded, 'an unknown version or type is an error, never skipped'],
    edits: editOf('state-machine', 'record/record-codec')(
      'if (version !== recordVersion)',
      'if (false)',
    ),
  },
]
