import type { LogRecord } from '@tenure/state-machine'
import type { Check } from '../src/checks/verdict.js'
import {
  append,
  checkpointOfTooLittle,
  completion,
  countOneMore,
  created,
  expire,
  fill,
  fillOf,
  forgetAll,
  type Gathered,
  grantOf,
  insert,
  lastAt,
  replace,
  reports,
  say,
  sayStarted,
} from './gathered.js'

/** A fault planted into sound evidence, and the check that must find it. */
export interface Plant {
  readonly name: string
  readonly check: Check
  readonly says: RegExp
  plant(evidence: Gathered): Partial<Gathered>
}

export const plants: readonly Plant[] = [
  {
    name: 'an acknowledged submission that is not in the log',
    check: 'nothing acknowledged is lost',
    says: /^submission 12345: task 99999999 was acknowledged and is lost$/,
    plant: ({ acknowledged }) => ({
      acknowledged: [...acknowledged, { number: 12345, taskId: 99999999 }],
    }),
  },
  {
    name: 'an acknowledgement that names the task of another',
    check: 'nothing acknowledged is lost',
    says: /belongs to the request chaos-\d+$/,
    plant: ({ acknowledged }) => ({
      acknowledged: [...acknowledged, { ...acknowledged[0]!, number: 12345 }],
    }),
  },
  {
    name: 'one request that became two tasks',
    check: 'a request id names one task',
    says: /^request chaos-\d+ is task \d+ and task \d+$/,
    plant: (evidence) => append(evidence, (lsn) => ({ ...created(evidence), taskId: lsn })),
  },
  {
    name: 'a task that ended and is waiting for the coordinator',
    check: 'every task ends exactly once',
    says: /is COMPLETED in the log; the coordinator reports WAITING$/,
    plant: (evidence) => {
      const { taskId } = completion(evidence).record
      return { live: [...evidence.live, { taskId, state: 'WAITING' }] }
    },
  },
  {
    name: 'a task that never ended',
    check: 'every task ends exactly once',
    says: /has 0 ends/,
    plant: (evidence) => append(evidence, (lsn) => ({ ...created(evidence), taskId: lsn })),
  },
  {
    name: 'a second completion',
    check: 'every task ends exactly once',
    says: /has 2 ends: COMPLETED, COMPLETED$/,
    plant: (evidence) => append(evidence, () => ({ ...completion(evidence).record })),
  },
  {
    name: 'a completion under a lease that is over',
    check: 'the log follows the specification',
    says: /^LSN \d+: lease \d+ owns no task$/,
    plant: (evidence) => append(evidence, () => ({ ...completion(evidence).record })),
  },
  {
    name: 'a completion after the expiry of its lease',
    check: 'the log follows the specification',
    says: /^LSN \d+: lease \d+ had expired$/,
    plant: (evidence) => {
      const { lsn, record } = completion(evidence)
      return replace(evidence, lsn, { ...record, at: grantOf(evidence).leaseExpiry + 3_600_000 })
    },
  },
  {
    name: 'a lease while another one is valid',
    check: 'the log follows the specification',
    says: /already has the lease \d+$/,
    plant: (evidence) => {
      const first = evidence.logged.find(({ record }) => record.type === 'LeaseGranted')!
      return insert(evidence, first.lsn, (lsn) => ({ ...first.record, leaseId: lsn }) as LogRecord)
    },
  },
  {
    name: 'a lease id that does not grow',
    check: 'the log follows the specification',
    says: /^LSN \d+: lease \d+ is not above the one before$/,
    plant: (evidence) => append(evidence, () => grantOf(evidence)),
  },
  {
    name: 'a second TaskCancelled for a lease',
    check: 'the log follows the specification',
    says: /is cancelled a second time$/,
    plant: (evidence) => {
      const { leaseId, taskId } = completion(evidence).record
      const expired = { ...evidence, ...expire(evidence) }
      const cancelled = () => ({ type: 'TaskCancelled', at: lastAt(evidence), leaseId, taskId })
      const once = { ...expired, ...append(expired, cancelled as () => LogRecord) }
      return append(once, cancelled as () => LogRecord)
    },
  },
  {
    name: 'a report that was COMMITTED under a lease that expired',
    check: 'answers to reports match the log',
    says: /the report was COMMITTED, but the lease is EXPIRED in the log$/,
    plant: expire,
  },
  {
    name: 'a report that was CANCELLED without a record',
    check: 'answers to reports match the log',
    says: /the report was CANCELLED, but the log has no record of that$/,
    plant: (evidence) => say(evidence, 'cancelled'),
  },
  {
    name: 'a report that was REJECTED',
    check: 'answers to reports match the log',
    says: /the report was REJECTED$/,
    plant: (evidence) => say(evidence, 'rejected'),
  },
  {
    name: 'a report after the last word',
    check: 'no report follows the final answer to a lease',
    says: /"committed" after "committed"$/,
    plant: (evidence) => say(evidence, 'committed'),
  },
  {
    name: 'a result that no handler returned',
    check: 'results match what handlers returned',
    says: /its result is "forged", but its handler returned ".*" under lease \d+$/,
    plant: (evidence) => {
      const { lsn, record } = completion(evidence)
      return replace(evidence, lsn, { ...record, result: Buffer.from('forged') })
    },
  },
  {
    name: 'an execution under a lease that was never granted',
    check: 'every execution has a lease of its own',
    says: /under lease 99999999, which was never granted$/,
    plant: ({ executions }) => ({
      executions: [
        ...executions,
        { what: 'started', taskId: 1, attempt: 2, leaseId: 99999999, worker: 'x' },
      ],
    }),
  },
  {
    name: 'an execution by another worker',
    check: 'every execution has a lease of its own',
    says: /^another worker executed .*, which was granted to /,
    plant: ({ executions }) => ({
      executions: executions.map((line) =>
        line === executions[0] ? { ...line, worker: 'another worker' } : line,
      ),
    }),
  },
  {
    name: 'an execution that began twice under one lease',
    check: 'every execution has a lease of its own',
    says: / 2 times$/,
    plant: ({ executions }) => ({ executions: [...executions, executions[0]!] }),
  },
  {
    name: 'a grant although the attempt before had not ended',
    check: 'every repeated execution is explained',
    says: /was granted although the attempt before had not ended$/,
    plant: (evidence) => append(evidence, (leaseId) => ({ ...grantOf(evidence), leaseId })),
  },
  {
    name: 'a completion without an execution',
    check: 'every reported task was executed',
    says: / and was never executed$/,
    plant: (evidence) => {
      const { leaseId } = completion(evidence).record
      return { executions: evidence.executions.filter((line) => line.leaseId !== leaseId) }
    },
  },
  {
    name: 'a failure without a report',
    check: 'every reported task was executed',
    says: /FAILED under lease \d+, which no worker knew of$/,
    plant: (evidence) => {
      const { lsn, record } = completion(evidence)
      const { at, taskId, leaseId } = record
      const failed = { type: 'TaskFailed', at, taskId, leaseId, failureReason: 'forged' } as const
      const isOther = (line: { readonly leaseId: number }) => line.leaseId !== leaseId
      return {
        ...replace(evidence, lsn, failed),
        executions: evidence.executions.filter(isOther),
        workerLines: evidence.workerLines.filter(isOther),
      }
    },
  },
  {
    name: 'a possible duplicate that was not counted',
    check: 'the metrics match the log',
    says: /^tenure_duplicate_executions_possible_total is \d+; it should be \d+$/,
    plant: countOneMore('tenure_duplicate_executions_possible_total'),
  },
  {
    name: 'a confirmed duplicate that the log does not have',
    check: 'the metrics match the log',
    says: /^tenure_duplicate_executions_confirmed_total is \d+; it should be \d+$/,
    plant: countOneMore('tenure_duplicate_executions_confirmed_total'),
  },
  {
    name: 'a refused report without a record',
    check: 'the metrics match the log',
    says: /^tenure_reports_refused_total is \d+; it should be \d+$/,
    plant: countOneMore('tenure_reports_refused_total'),
  },
  {
    name: 'an open of the log that was not counted',
    check: 'every start is counted',
    says: /^epoch (\d+) follows epoch \1$/,
    plant: (evidence) => sayStarted(evidence, 0, 1),
  },
  {
    name: 'a restart that was not counted',
    check: 'every start is counted',
    says: /^restart (\d+) follows restart \1$/,
    plant: (evidence) => sayStarted(evidence, 1, 0),
  },
  {
    name: 'a restart that is missing from the metrics',
    check: 'every start is counted',
    says: /^tenure_coordinator_restarts is \d+; the last start reported \d+$/,
    plant: (evidence) => sayStarted(evidence, 1, 1),
  },
  {
    name: 'an open of the log that is missing from the metrics',
    check: 'every start is counted',
    says: /^tenure_log_epoch is \d+; the last start reported \d+$/,
    plant: (evidence) => sayStarted(evidence, 1, 1),
  },
  {
    name: 'more restarts than opens of the log',
    check: 'every start is counted',
    says: /^restart \d+ in epoch \d+$/,
    plant: (evidence) => sayStarted(evidence, 1, 1000),
  },
  {
    name: 'an epoch without a start',
    check: 'every start is counted',
    says: /^epoch \d+ after \d+ launches$/,
    plant: () => ({ coordinatorLives: 0 }),
  },
  {
    name: 'a record that the state machine refuses',
    check: 'the log replays to one valid state',
    says: /^the log does not replay: /,
    plant: (evidence) => append(evidence, () => ({ ...completion(evidence).record })),
  },
  {
    name: 'a checkpoint that lacks the last record',
    check: 'the log replays to one valid state',
    says: /^at LSN \d+ the whole log gives the state \w+, the checkpoint there is \w+$/,
    plant: checkpointOfTooLittle,
  },
  {
    name: 'a checkpoint after the end of the log',
    check: 'the log replays to one valid state',
    says: /^no record is at checkpoint 99999999$/,
    plant: () => ({ checkpoints: [{ lsn: 99999999, chunks: [] }] }),
  },
  {
    name: 'a record that changed after it was copied',
    check: 'the copy matches the log',
    says: /^LSN \d+ is TaskCancelled in the log and \w+ in the copy$/,
    plant: ({ left }) => {
      const { lsn, record } = left.at(-1)!
      const { at } = record
      const other = { type: 'TaskCancelled', at, taskId: lsn, leaseId: lsn } as const
      return { left: [...left.slice(0, -1), { lsn, record: other }] }
    },
  },
  {
    name: 'a record that was copied and is gone',
    check: 'the copy matches the log',
    says: /^LSN \d+ was copied and is no longer in the log$/,
    plant: ({ left }) => ({ left: left.slice(0, -1) }),
  },
  {
    name: 'a record that was never copied',
    check: 'the copy matches the log',
    says: /^LSN \d+ is in the log and not in the copy$/,
    plant: ({ logged }) => ({ logged: logged.slice(0, -1) }),
  },
  {
    name: 'a record whose LSN is not consecutive',
    check: 'the log follows the specification',
    says: /^LSN \d+: follows LSN \d+$/,
    plant: ({ logged }) => ({ logged: logged.filter(({ lsn }) => lsn !== 2) }),
  },
  {
    name: 'a task that was forgotten too early',
    check: 'the log follows the specification',
    says: /^LSN \d+: keeps 0 ended tasks, not 30000$/,
    plant: forgetAll,
  },
  {
    name: 'a report about a task that is forgotten',
    check: 'the log follows the specification',
    says: /^LSN \d+: task \d+ is forgotten$/,
    plant: (evidence) => {
      const { leaseId, taskId } = completion(evidence).record
      const forgotten = { ...evidence, ...forgetAll(evidence) }
      const at = lastAt(evidence)
      return append(forgotten, () => ({ type: 'TaskCancelled', at, leaseId, taskId }))
    },
  },
  {
    name: 'a task that is forgotten and still listed',
    check: 'every task ends exactly once',
    says: /^task \d+ is forgotten in the log; the coordinator reports COMPLETED$/,
    plant: forgetAll,
  },
  {
    name: 'a task that is listed but not in the log',
    check: 'every task ends exactly once',
    says: /^the coordinator lists task 99999999; it is not in the log$/,
    plant: ({ live }) => ({ live: [...live, { taskId: 99999999, state: 'WAITING' }] }),
  },
  {
    name: 'a refusal for another reason than a full disk',
    check: 'submissions are rejected only on a full disk',
    says: /^3 submissions were rejected as OVERLOADED$/,
    plant: (evidence) => fill(evidence, { reason: 'OVERLOADED' }),
  },
  {
    name: 'NO_SPACE although the disk was never filled',
    check: 'submissions are rejected only on a full disk',
    says: /^3 submissions were rejected as NO_SPACE before the disk was full$/,
    plant: (evidence) => ({ ...fill(evidence, {}), faults: [] }),
  },
  {
    name: 'NO_SPACE long after the disk has space again',
    check: 'submissions are rejected only on a full disk',
    says: /^3 submissions were rejected as NO_SPACE, the last of them 60 s after the disk had space again$/,
    plant: (evidence) => fill(evidence, { lastMs: fillOf(evidence).toMs + 60_000 }),
  },
  {
    name: 'a full disk on which work stops',
    check: 'work continues on a full disk',
    says: /^submissions were rejected from \S+ on, and no lease made progress$/,
    plant: (evidence) => ({
      ...fill(evidence, {}),
      logged: evidence.logged.filter(({ record: { type } }) => !reports.includes(type)),
    }),
  },
]
