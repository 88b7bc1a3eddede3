import type { Edit } from '../bugs/bug.js'
import { editOf, type Fault } from './fault.js'

const file = 'packages/coordinator-server/test/observe.test.ts'
const asked = '002 §8: each metric exports its own value'
const told = 'events of the log, its checkpoints and the loop are counted under their own names'

const history = 'packages/state-machine/test/apply.test.ts'
const counters = 'each counter counts exactly its own records'
const confirmed =
  'a duplicate is confirmed once for each attempt that expired, was followed by another one, and reported'

const grant = editOf('state-machine', 'apply/apply-lease')
const report = editOf('state-machine', 'apply/apply-report')
const task = editOf('state-machine', 'apply/apply-task')
const metrics = editOf('coordinator-server', 'observe/metrics')
const requests = editOf('coordinator-server', 'observe/request-metrics')

/** Swaps two counters of the state between their metrics. */
function swapped(one: string, other: string): readonly Edit[] {
  // The space keeps the second edit from matching the text of the first.
  return [...metrics(`${one}: [`, `${other} : [`), ...metrics(`${other}: [`, `${one} : [`)]
}

/** Metrics with wrong values: 002 §8. */
export const metricFaults: readonly Fault[] = [
  ...(
    [
      ['tasksCreated', 'leasesGranted'],
      ['leasesExtended', 'leasesExpired'],
      ['leasesExpired', 'leasesExpiredAtStart'],
      ['retries', 'leasesExpired'],
      ['retries', 'tasksFailed'],
      ['tasksCompleted', 'tasksDead'],
      ['tasksForgotten', 'tasksCompleted'],
      ['possibleDuplicates', 'confirmedDuplicates'],
      ['confirmedDuplicates', 'refusedReports'],
      ['retries', 'possibleDuplicates'],
    ] as const
  ).map(
    ([one, other]): Fault => ({
      name: `the metrics of ${one} and ${other} are swapped`,
      test: [file, asked],
      edits: swapped(one, other),
    }),
  ),
  ...(
    [
      ['tenure_leased_tasks', '() => countTasks(state).leased', '() => 0'],
      ['tenure_waiting_tasks', '() => countTasks(state).waiting', '() => countTasks(state).leased'],
      ['tenure_ended_tasks', '() => countTasks(state).ended', '() => countTasks(state).waiting'],
      ['tenure_tasks_bytes', '() => countTasks(state).bytes', '() => countTasks(state).ended'],
      ['tenure_coordinator_restarts', '() => restarts', '() => epoch'],
      ['tenure_log_epoch', '() => epoch)', '() => restarts)'],
      ['tenure_recovery_seconds', '() => recoveryMs / 1000', '() => parts.replayMs / 1000'],
      ['tenure_replay_seconds', '() => parts.replayMs / 1000', '() => recoveryMs / 1000'],
      [
        'tenure_recovery_part_seconds',
        'Object.entries(parts)',
        'Object.entries({ ...parts, openMs: 0 })',
      ],
      ['tenure_replay_estimate_seconds', '() => replayMsOf(log) / 1000', '() => replayMsOf(log)'],
      ['tenure_checkpoint_lsn', '() => log.checkpointLsn', '() => log.nextLsn'],
      ['tenure_disk_free_bytes', "the log.', freeBytes)", "the log.', () => 0)"],
      [
        'tenure_log_bytes',
        '(sum, { bytes }) => sum + bytes',
        '(sum, { usedBytes: bytes }) => sum + bytes',
      ],
      ['tenure_clock_offset_seconds', '() => time.offsetMs / 1000', '() => 0'],
      [
        'tenure_connections',
        "'Open connections.', connections)",
        "'Open connections.', waitingPolls)",
      ],
      ['tenure_waiting_polls', "for a task.', waitingPolls)", "for a task.', connections)"],
      ['tenure_queue_lag_seconds', 'time.now() - oldest) / 1000', 'time.now() - oldest)'],
    ] as const
  ).map(
    ([name, old, bad]): Fault => ({
      name: `${name} shows a different value`,
      test: [file, asked],
      edits: metrics(old, bad),
    }),
  ),
  ...(
    [
      [
        'tenure_commit_seconds',
        'this.#commitSeconds.observe(durationMs / 1000)',
        'this.#commitSeconds.observe(durationMs)',
      ],
      [
        'tenure_commit_records',
        'this.#commitRecords.observe(records)',
        'this.#commitRecords.observe(1)',
      ],
      [
        'tenure_log_written_bytes_total',
        'this.#logBytes.inc(bytes)',
        'this.#logBytes.inc(records)',
      ],
      ['tenure_disk_full', 'this.#diskFull.set(isFull ? 1 : 0)', 'this.#diskFull.set(0)'],
      [
        'tenure_checkpoints_total',
        "this.#checkpoints.inc({ outcome: 'made' })",
        "this.#checkpoints.inc({ outcome: 'failed' })",
      ],
      ['tenure_checkpoint_seconds', '(replayMs + writeMs) / 1000', 'replayMs / 1000'],
      [
        'tenure_lease_margin_seconds',
        'this.#margin.observe(marginMs / 1000)',
        'this.#margin.observe(marginMs)',
      ],
    ] as const
  ).map(
    ([name, old, bad]): Fault => ({
      name: `${name} counts a different event`,
      test: [file, told],
      edits: metrics(old, bad),
    }),
  ),
  {
    name: 'tenure_requests_total does not count rejections by reason',
    test: [file, 'requests are counted by kind and answer, rejections by reason'],
    edits: requests("answer.kind === 'rejected' ? answer.reason : answer.kind", 'answer.kind'),
  },
  {
    name: 'tenure_request_seconds is in milliseconds',
    test: [file, told],
    edits: requests('const seconds = tookMs / 1000;', 'const seconds = tookMs;'),
  },
  ...(
    [
      ['tasksCreated', task, 'tasksDead'],
      ['leasesGranted', grant, 'leasesExtended'],
      ['leasesExtended', grant, 'leasesGranted'],
      ['leasesExpired', grant, 'leasesExpiredAtStart'],
      ['leasesExpiredAtStart', grant, 'leasesExpired'],
      ['possibleDuplicates', grant, 'refusedReports'],
      ['tasksCompleted', report, 'tasksFailed'],
      ['retries', report, 'tasksFailed'],
      ['tasksFailed', report, 'retries'],
      ['refusedReports', report, 'possibleDuplicates'],
      ['tasksDead', task, 'tasksFailed'],
      ['tasksForgotten', task, 'tasksDead'],
    ] as const
  ).map(
    ([name, edit, other]): Fault => ({
      name: `events of ${name} are counted as ${other}`,
      test: [history, counters],
      edits: edit(`counters.${name}++`, `counters.${other}++`),
    }),
  ),
  {
    name: 'a report after the next grant confirms no duplicate',
    test: [history, confirmed],
    edits: report('counters.confirmedDuplicates++;', ';'),
  },
  {
    name: 'a report before the next grant confirms no duplicate',
    test: [history, confirmed],
    edits: grant('counters.confirmedDuplicates++;', ';'),
  },
  {
    name: 'a grant after every expiry confirms a duplicate',
    test: [history, confirmed],
    edits: grant('if (attempts.cancelled.get(previous) !== 0)', 'if (true)'),
  },
]
