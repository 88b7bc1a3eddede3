import { editOf, type Fault } from './fault.js'

const test = 'packages/coordinator-server/test/coordinator.test.ts'
const rows = 'semantics §6: the answer to a report, row by row'
const pastExpiry =
  'a heartbeat that finds its lease past expiry is answered after LeaseExpired is applied'
const kills = 'semantics §8: killing a task, by its state'

const judgement = editOf('coordinator-server', 'decide/lease-judgement')
const manager = editOf('coordinator-server', 'decide/task-manager')
const leases = editOf('coordinator-server', 'decide/lease-manager')
const loop = editOf('coordinator-server', 'core/coordinator')

/** Wrong answers to reports, heartbeats and kills: semantics §4, §5, §6 and §8. */
export const answerFaults: readonly Fault[] = [
  {
    name: 'a task that never existed is answered UNKNOWN_LEASE',
    test: [test, rows, 'the task never existed: REJECTED UNKNOWN_TASK'],
    edits: judgement("hasTask(state, taskId) ? 'UNKNOWN_LEASE'", "true ? 'UNKNOWN_LEASE'"),
  },
  {
    name: 'a forgotten task is answered UNKNOWN_LEASE',
    test: [test, rows, 'the task was forgotten: REJECTED UNKNOWN_TASK'],
    edits: judgement("hasTask(state, taskId) ? 'UNKNOWN_LEASE'", "true ? 'UNKNOWN_LEASE'"),
  },
  {
    name: 'a lease that was never granted is answered UNKNOWN_TASK',
    test: [test, rows, 'that lease was never granted for that task: REJECTED UNKNOWN_LEASE'],
    edits: judgement("hasTask(state, taskId) ? 'UNKNOWN_LEASE'", "false ? 'UNKNOWN_LEASE'"),
  },
  {
    name: 'a report of another worker is accepted',
    test: [test, rows, 'the lease belongs to another worker: REJECTED WRONG_WORKER'],
    edits: judgement('if (standing.workerId !== caller.name)', 'if (false)'),
  },
  {
    name: 'a report ignores the expiry of a running lease',
    test: [test, rows, 'the lease has expired: CANCELLED, with one TaskCancelled per lease'],
    edits: judgement('now < standing.leaseExpiry', 'true'),
  },
  {
    name: 'a heartbeat ignores the expiry of a running lease',
    test: [test, pastExpiry],
    edits: judgement('now < standing.leaseExpiry', 'true'),
  },
  {
    name: 'a lease is still valid at its expiry',
    test: [test, pastExpiry],
    edits: judgement('now < standing.leaseExpiry', 'now <= standing.leaseExpiry'),
  },
  {
    name: 'a lease expires a millisecond early',
    test: [test, pastExpiry],
    edits: judgement('now < standing.leaseExpiry', 'now + 1 < standing.leaseExpiry'),
  },
  {
    name: 'a heartbeat past the expiry is refused without a record',
    test: [test, pastExpiry],
    edits: leases("return { kind: 'expire first' };", "return answer(rejected(id, 'EXPIRED'));"),
  },
  {
    name: 'a late report is cancelled before its lease has expired in the log',
    test: [test, rows, 'the lease has expired: CANCELLED, with one TaskCancelled per lease'],
    edits: manager(
      "case 'past expiry':\n            return { kind: 'expire first' };",
      "case 'past expiry':\n            return answer({ kind: 'cancelled', id, reason: 'EXPIRED' });",
    ),
  },
  {
    name: 'a repeated report counts as another one',
    test: [test, rows, 'the same report sent again: the same COMMITTED, and no record'],
    edits: manager('if (isSameReport(state, request, standing))', 'if (false)'),
  },
  {
    name: 'the second of two reports gets the answer of the first',
    test: [test, rows, 'another report under the same lease: REJECTED DUPLICATE_REPORT'],
    edits: manager('|| request.reportId !== reportId', ''),
  },
  {
    name: 'two reports without a report_id are the same',
    test: [test, rows, 'a report without a report_id is never recognised as a repetition'],
    edits: manager('request.reportId === undefined ||', ''),
  },
  {
    name: 'another result under the same report_id counts as the same report',
    test: [test, rows, 'the same report_id with another result: REJECTED DUPLICATE_REPORT'],
    edits: manager('return Buffer.compare(one, other) === 0', 'return true'),
  },
  {
    name: 'a missing result equals an empty one',
    test: [test, rows, 'the same report_id with another result: REJECTED DUPLICATE_REPORT'],
    edits: manager('return one === other', 'return true'),
  },
  {
    name: 'a failure under the report_id of a completion counts as the same report',
    test: [test, rows, 'another report under the same lease: REJECTED DUPLICATE_REPORT'],
    edits: manager("return outcome === 'FAILED'", 'return true'),
  },
  {
    name: 'every late report writes a record',
    test: [test, rows, 'the lease has expired: CANCELLED, with one TaskCancelled per lease'],
    edits: manager('if (standing.cancelled)', 'if (false)'),
  },
  {
    name: 'a late report writes no record',
    test: [test, rows, 'the lease has expired: CANCELLED, with one TaskCancelled per lease'],
    edits: manager('if (standing.cancelled)', 'if (true)'),
  },
  {
    name: 'a superseded lease is answered EXPIRED',
    test: [test, rows, 'another attempt superseded the lease: CANCELLED, naming that lease'],
    edits: judgement('if (newestLeaseId !== leaseId)', 'if (false)'),
  },
  {
    name: 'the superseding lease is not named',
    test: [test, rows, 'another attempt superseded the lease: CANCELLED, naming that lease'],
    edits: judgement(', supersededBy: newestLeaseId', ''),
  },
  {
    name: 'the lease of a killed task is answered EXPIRED',
    test: [test, rows, 'the task is DEAD: CANCELLED'],
    edits: judgement("reason: 'TASK_TERMINAL' };", "reason: 'EXPIRED' };"),
  },
  {
    name: 'a task that was killed after its lease had expired is not answered as DEAD',
    test: [test, rows, 'the task is DEAD: CANCELLED'],
    edits: judgement("taskState === 'DEAD' ? 'TASK_TERMINAL'", "false ? 'TASK_TERMINAL'"),
  },
  {
    name: 'the answer to a failure lacks the time of the retry',
    test: [test, rows, 'the lease is current and valid: COMMITTED, with the new state of the task'],
    edits: manager(
      "return { kind: 'committed', id, state: taskState, eligibleAt };",
      "return { kind: 'committed', id, state: taskState };",
    ),
  },
  {
    name: 'a repeated failure is answered with the current state',
    test: [
      ...([test, rows] as const),
      'a failure report sent again gets its answer again, whatever happened to the task since',
    ],
    edits: manager(
      'return answer(committedBefore(state, request))',
      'return answer(committed(state, id, taskId))',
    ),
  },
  {
    name: 'a malformed request is answered with another reason',
    test: [test, rows, 'a malformed request: REJECTED MALFORMED'],
    edits: loop("'MALFORMED', request.message", "'UNKNOWN_TASK', request.message"),
  },
  {
    name: 'a result of any size is accepted',
    test: [test, 'a result may have up to resultBytesMax bytes'],
    edits: manager('if (bytes <= knobs.resultBytesMax)', 'if (true)'),
  },
  {
    name: 'a result of exactly the limit is too large',
    test: [test, 'a result may have up to resultBytesMax bytes'],
    edits: manager('if (bytes <= knobs.resultBytesMax)', 'if (bytes < knobs.resultBytesMax)'),
  },
  {
    name: 'a heartbeat after the report is answered EXPIRED',
    test: [test, pastExpiry],
    edits: leases("rejected(id, 'REPORTED')", "rejected(id, 'EXPIRED')"),
  },
  {
    name: 'every rejected heartbeat is answered EXPIRED',
    test: [test, pastExpiry],
    edits: leases('rejected(id, judgement.reason)', "rejected(id, 'EXPIRED')"),
  },
  {
    name: 'a heartbeat that extends nothing is written',
    test: [test, 'a heartbeat that extends nothing is OK and writes nothing'],
    edits: leases('if (newLeaseExpiry <= leaseExpiry)', 'if (false)'),
  },
  {
    name: 'a heartbeat extends its lease beyond the execution window',
    test: [test, 'a heartbeat that extends nothing is OK and writes nothing'],
    edits: leases(
      'Math.min(now + knobs.leaseDurationMs, windowEnd)',
      'now + knobs.leaseDurationMs',
    ),
  },
  {
    name: 'a kill ignores the expiry',
    test: [test, kills, 'a lease that is past its expiry expires first'],
    edits: manager('if (isPastExpiry(state, task.currentLeaseId, now))', 'if (false)'),
  },
  {
    name: 'a kill treats a lease as expired too early',
    test: [test, kills, 'a WAITING or LEASED task is stopped, by one record'],
    edits: manager('now >= lease.leaseExpiry', 'now + 1 >= lease.leaseExpiry'),
  },
  {
    name: 'a kill treats a lease as valid at its expiry',
    test: [test, kills, 'a lease that is past its expiry expires first'],
    edits: manager('now >= lease.leaseExpiry', 'now > lease.leaseExpiry'),
  },
  {
    name: 'killing a DEAD task is rejected',
    test: [test, kills, 'a DEAD task stays DEAD, and nothing is written'],
    edits: manager(
      "return answer({ kind: 'killed', id, known: true });",
      "return answer(rejected(id, 'TASK_TERMINAL'));",
    ),
  },
  {
    name: 'killing an ended task is accepted',
    test: [test, kills, 'a COMPLETED or FAILED task is REJECTED TASK_TERMINAL and does not change'],
    edits: manager(
      "answer(rejected(id, 'TASK_TERMINAL', ",
      "answer({ kind: 'killed', id, known: true }, (",
    ),
  },
  {
    name: 'killing a task that never existed is rejected for another reason',
    test: [test, kills, 'a task that never existed is REJECTED UNKNOWN_TASK'],
    edits: manager("answer(rejected(id, 'UNKNOWN_TASK'))", "answer(rejected(id, 'TASK_TERMINAL'))"),
  },
]
