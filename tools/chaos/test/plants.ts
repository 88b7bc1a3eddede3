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

/** Something wrong, put into evidence in which all is right, and who has to find it. */
export interface Plant {
  readonly name: string
  readonly check: Check
  readonly says: RegExp
  plant(evidence: Gathered): Partial<Gathered>
}

export const plants: readonly Plant[] = [
  {
    name: 'an acknowledged submission that is in no log',
    check: 'nothing acknowledged is lost',
    says: /^submission 12345: task 99999999 was acknowledged and is lost$/,
    plant: ({ acknowledged }) => ({
      acknowledged: [...acknowledged, { number: 12345, taskId: 99999999 }],
    }),
  },
  {
    name: 'an acknowledgement that names the task of another',
    check: 'nothing acknowledged is lost',
    says: /was made by the request chaos-\d+$/,
    plant: ({ acknowledged }) => ({
      acknowledged: [...acknowledged, { ...acknowledged[0]!, number: 12345 }],
    }),
  },
  {
    name: 'one request that became two tasks',
    check: 'a request id is one task',
    says: /^request chaos-\d+ is task \d+ and task \d+$/,
    plant: (evidence) => append(evidence, (lsn) => ({ ...created(evidence), taskId: lsn })),
  },
  {
    name: 'a task that ended and is waiting for the coordinator',
    check: 'every task has its one end',
    says: /is COMPLETED in the log; the coordinator says WAITING$/,
    plant: (evidence) => {
      const { taskId } = completion(evidence).record
      return { live: [...evidence.live, { taskId, state: 'WAITING' }] }
    },
  },
  {
    name: 'a task that never ended',
    check: 'every task has its one end',
    says: /has 0 ends/,
    plant: (evidence) => append(evidence, (lsn) => ({ ...created(evidence), taskId: lsn })),
  },
  {
    name: 'a second completion',
    check: 'every task has its one end',
    says: /has 2 ends: COMPLETED, COMPLETED$/,
    plant: (evidence) => append(evidence, () => ({ ...completion(evidence).record })),
  },
  {
    name: 'a completion under a lease that is over',
    check: 'the log is possible',
    says: /^LSN \d+: lease \d+ owns no task$/,
    plant: (evidence) => append(evidence, () => ({ ...completion(evidence).record })),
  },
  {
    name: 'a completion after the expiry of its lease',
    check: 'the log is possible',
    says: /^LSN \d+: lease \d+ had expired$/,
    plant: (evidence) => {
      const { lsn, record } = completion(evidence)
      return replace(evidence, lsn, { ...record, at: grantOf(evidence).leaseExpiry + 3_600_000 })
    },
  },
  {
    name: 'a lease while another one is valid',
    check: 'the log is possible',
    says: /has the lease \d+ already$/,
    plant: (evidence) => {
      const first = evidence.logged.find(({ record }) => record.type === 'LeaseGranted')!
      return insert(evidence, first.lsn, (lsn) => ({ ...first.record, leaseId: lsn }) as LogRecord)
    },
  },
  {
    name: 'a lease id that does not grow',
    check: 'the log is possible',
    says: /^LSN \d+: lease \d+ is not above the last one$/,
    plant: (evidence) => append(evidence, () => grantOf(evidence)),
  },
  {
    name: 'a second TaskCancelled for a lease',
    check: 'the log is possible',
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
    check: 'answers to reports are what the log says',
    says: /the report was COMMITTED, and in the log the lease is EXPIRED$/,
    plant: expire,
  },
  {
    name: 'a report that was CANCELLED without a record',
    check: 'answers to reports are what the log says',
    says: /the report was CANCELLED, and the log knows nothing of it$/,
    plant: (evidence) => say(evidence, 'cancelled'),
  },
  {
    name: 'a report that was REJECTED',
    check: 'answers to reports are what the log says',
    says: /the report was REJECTED$/,
    plant: (evidence) => say(evidence, 'rejected'),
  },
  {
    name: 'a report after the last word',
    check: 'nothing follows the last word on a lease',
    says: /"committed" after "committed"$/,
    plant: (evidence) => say(evidence, 'committed'),
  },
  {
    name: 'a result that no handler returned',
    check: 'results are what handlers returned',
    says: /its result is "forged", and under lease \d+ a handler returned "/,
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
    says: /^somebody executed .*, which was granted to /,
    plant: ({ executions }) => ({
      executions: executions.map((line) =>
        line === executions[0] ? { ...line, worker: 'somebody' } : line,
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
    name: 'a grant that follows no end of the attempt before',
    check: 'every second execution is explained',
    says: /follows no end of the one before$/,
    plant: (evidence) => append(evidence, (leaseId) => ({ ...grantOf(evidence), leaseId })),
  },
  {
    name: 'a completion that nobody executed',
    check: 'what is reported was executed',
    says: /and nobody executed it$/,
    plant: (evidence) => {
      const { leaseId } = completion(evidence).record
      return { executions: evidence.executions.filter((line) => line.leaseId !== leaseId) }
    },
  },
  {
    name: 'a failure that nobody reported',
    check: 'what is reported was executed',
    says: /FAILED under lease \d+, of which no worker knew$/,
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
    name: 'a duplicate that was possible and not counted',
    check: 'the metrics say what the log says',
    says: /^tenure_duplicate_executions_possible_total is \d+; it should be \d+$/,
    plant: countOneMore('tenure_duplicate_executions_possible_total'),
  },
  {
    name: 'a duplicate that nothing confirms',
    check: 'the metrics say what the log says',
    says: /^tenure_duplicate_executions_confirmed_total is \d+; it should be \d+$/,
    plant: countOneMore('tenure_duplicate_executions_confirmed_total'),
  },
  {
    name: 'a refused report of which there is no record',
    check: 'the metrics say what the log says',
    says: /^tenure_reports_refused_total is \d+; it should be \d+$/,
    plant: countOneMore('tenure_reports_refused_total'),
  },
  {
    name: 'an opening that was not counted',
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
    name: 'a restart that the metrics do not know',
    check: 'every start is counted',
    says: /^tenure_coordinator_restarts is \d+; the last start said \d+$/,
    plant: (evidence) => sayStarted(evidence, 1, 1),
  },
  {
    name: 'an opening that the metrics do not know',
    check: 'every start is counted',
    says: /^tenure_log_epoch is \d+; the last start said \d+$/,
    plant: (evidence) => sayStarted(evidence, 1, 1),
  },
  {
    name: 'more restarts than openings',
    check: 'every start is counted',
    says: /^restart \d+ in epoch \d+$/,
    plant: (evidence) => sayStarted(evidence, 1, 1000),
  },
  {
    name: 'an epoch that nobody began',
    check: 'every start is counted',
    says: /^epoch \d+ of \d+ lives$/,
    plant: () => ({ coordinatorLives: 0 }),
  },
  {
    name: 'a record that the state machine refuses',
    check: 'the log replays to one sound state',
    says: /^the log does not replay: /,
    plant: (evidence) => append(evidence, () => ({ ...completion(evidence).record })),
  },
  {
    name: 'a checkpoint that lacks what happened last',
    check: 'the log replays to one sound state',
    says: /^at LSN \d+ the whole log gives the state \w+, the checkpoint there is \w+$/,
    plant: checkpointOfTooLittle,
  },
  {
    name: 'a checkpoint behind the end of the log',
    check: 'the log replays to one sound state',
    says: /^no record is at checkpoint 99999999$/,
    plant: () => ({ checkpoints: [{ lsn: 99999999, chunks: [] }] }),
  },
  {
    name: 'a record that is another one than when it was written',
    check: 'the copy of the log is what is left of it',
    says: /^LSN \d+ is TaskCancelled; when it was copied it was \w+$/,
    plant: ({ left }) => {
      const { lsn, record } = left.at(-1)!
      const { at } = record
      const other = { type: 'TaskCancelled', at, taskId: lsn, leaseId: lsn } as const
      return { left: [...left.slice(0, -1), { lsn, record: other }] }
    },
  },
  {
    name: 'a record that was there once and is gone',
    check: 'the copy of the log is what is left of it',
    says: /^LSN \d+ was copied and is in the log no more$/,
    plant: ({ left }) => ({ left: left.slice(0, -1) }),
  },
  {
    name: 'a record that was never copied',
    check: 'the copy of the log is what is left of it',
    says: /^LSN \d+ is in the log and was not copied$/,
    plant: ({ logged }) => ({ logged: logged.slice(0, -1) }),
  },
  {
    name: 'a record whose LSN follows no other',
    check: 'the log is possible',
    says: /^LSN \d+: follows LSN \d+$/,
    plant: ({ logged }) => ({ logged: logged.filter(({ lsn }) => lsn !== 2) }),
  },
  {
    name: 'a task that was forgotten before its time',
    check: 'the log is possible',
    says: /^LSN \d+: leaves 0 of 30000 ended tasks$/,
    plant: forgetAll,
  },
  {
    name: 'a report about a task that is forgotten',
    check: 'the log is possible',
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
    check: 'every task has its one end',
    says: /^task \d+ is forgotten in the log; the coordinator says COMPLETED$/,
    plant: forgetAll,
  },
  {
    name: 'a task that is listed and in no log',
    check: 'every task has its one end',
    says: /^the coordinator lists task 99999999; it is in no log$/,
    plant: ({ live }) => ({ live: [...live, { taskId: 99999999, state: 'WAITING' }] }),
  },
  {
    name: 'a refusal for another reason than a full disk',
    check: 'only a full disk refuses, and it passes',
    says: /^3 submissions were refused as OVERLOADED$/,
    plant: (evidence) => fill(evidence, { reason: 'OVERLOADED' }),
  },
  {
    name: 'a full disk that nobody filled',
    check: 'only a full disk refuses, and it passes',
    says: /^3 submissions were refused as NO_SPACE before the disk was full$/,
    plant: (evidence) => ({ ...fill(evidence, {}), faults: [] }),
  },
  {
    name: 'a disk that stays full when there is room',
    check: 'only a full disk refuses, and it passes',
    says: /^3 submissions were refused as NO_SPACE, the last of them 60 s after there was room again$/,
    plant: (evidence) => fill(evidence, { lastMs: fillOf(evidence).toMs + 60_000 }),
  },
  {
    name: 'a full disk on which nothing goes on',
    check: 'work goes on while a full disk refuses',
    says: /^submissions were refused from \S+ on, and nobody who held a lease was heard$/,
    plant: (evidence) => ({
      ...fill(evidence, {}),
      logged: evidence.logged.filter(({ record: { type } }) => !reports.includes(type)),
    }),
  },
]
