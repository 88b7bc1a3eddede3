import { editOf, type Fault } from './fault.js'

const test = 'packages/coordinator-server/test/coordinator.test.ts'
const polled = 'packages/coordinator-server/test/polls.test.ts'
const badDays = 'packages/coordinator-server/test/bad-days.test.ts'
const window = 'semantics §5: a lease lasts leaseDurationMs, up to the end of the window'
const time = 'semantics §1: wall clock jumps affect no decision, and no restart moves time back'
const waits = 'a lease request waits for a task until it times out'
const ends = 'a poll ends when its connection closes or it is withdrawn'
const poison = 'poison: a task whose leases keep expiring is stopped, visibly'
const atStart =
  'leases that expired during downtime expire before the first request and do not count as poison'
const locked = 'a task with an in-flight decision is not decided again until that is applied'
const fullDisk =
  'on a full disk submissions are rejected first, expiries are retried, and it recovers by itself'
const retention = 'ended tasks are forgotten soon after their retention, however many there are'
const stopping =
  'stopping answers waiting polls, completes records in flight, and rejects new requests'
const failing = 'a log failure ends the coordinator, and nothing is answered that is not durable'

const leases = editOf('coordinator-server', 'decide/lease-manager')
const loop = editOf('coordinator-server', 'core/coordinator')
const waiting = editOf('coordinator-server', 'polls/waiting-polls')
const commits = editOf('coordinator-server', 'core/commits')
const keeper = editOf('coordinator-server', 'core/timekeeper')
const clock = editOf('coordinator-server', 'decide/decision-time')

/** Leases, polls, decisions of time, and records in flight: semantics §1, §3–5, §7, §10, §11. */
export const loopFaults: readonly Fault[] = [
  {
    name: 'a lease outlasts its execution window',
    test: [test, window],
    edits: leases('Math.min(knobs.leaseDurationMs, executionWindowMs)', 'knobs.leaseDurationMs'),
  },
  {
    name: 'a lease always lasts for its whole execution window',
    test: [test, window],
    edits: leases('Math.min(knobs.leaseDurationMs, executionWindowMs)', 'executionWindowMs'),
  },
  {
    name: 'a grant lacks the time for which its request was held',
    test: [test, waits],
    edits: leases('heldMs: now - caller.arrivedAt', 'heldMs: 0'),
  },
  {
    name: 'a wall clock that jumps moves decisions',
    test: [test, time],
    edits: clock(
      'return this.#anchorMs + Math.floor(monotonicMs - this.#anchoredAtMs);',
      'return this.#clock.now();',
    ),
  },
  {
    name: 'a restart uses only the wall clock',
    test: [test, time],
    edits: clock('Math.max(clock.now(), latestKnownMs)', 'clock.now()'),
  },
  {
    name: 'a restart uses only the time in the log',
    test: [test, time],
    edits: clock('Math.max(clock.now(), latestKnownMs)', 'latestKnownMs'),
  },
  {
    name: 'a poll never times out',
    test: [test, waits],
    edits: loop('Math.min(request.waitMs, knobs.waitMsMax)', 'request.waitMs'),
  },
  {
    name: 'a poll is answered immediately',
    test: [test, waits],
    edits: loop('Math.min(request.waitMs, knobs.waitMsMax)', '0'),
  },
  {
    name: 'a lease request that meets an expiry is answered EMPTY',
    test: [test, 'a lease request that does not wait gets the task whose expired lease it finds'],
    edits: loop('if (expiring !== undefined)', 'if (false)'),
  },
  {
    name: 'a poll outlives its connection',
    test: [test, ends],
    edits: loop('for (const poll of this.#polls.of(session))', 'for (const poll of [])'),
  },
  {
    name: 'a disconnected worker is granted a task',
    test: [
      test,
      'a connection that closes while its lease request waits for an expiry gets no task',
    ],
    edits: loop("request.kind === 'lease' && this.#closedSessions.has(session)", 'false'),
  },
  {
    name: 'a withdrawn poll keeps waiting',
    test: [test, ends],
    edits: loop('if (poll !== undefined)\n            this.#answerEmpty(poll);', ''),
  },
  {
    name: 'a task is stopped one expiry late',
    test: [test, poison],
    edits: keeper(
      'task.expiriesInARow < poisonThreshold',
      'task.expiriesInARow <= poisonThreshold',
    ),
  },
  {
    name: 'a task is stopped one expiry early',
    test: [test, poison],
    edits: keeper(
      'task.expiriesInARow < poisonThreshold',
      'task.expiriesInARow + 1 < poisonThreshold',
    ),
  },
  {
    name: 'a poison task lacks its reason',
    test: [test, poison],
    edits: keeper('const reason = `poison: ', 'const reason = `'),
  },
  {
    name: 'a poison threshold of 0 stops every task',
    test: [test, 'without a poison threshold no task is stopped, however many leases expire'],
    edits: keeper('poisonThreshold === 0 ||', ''),
  },
  {
    name: 'poison tasks are not stopped at startup',
    test: [test, 'startup stops a poison task that a crash left waiting'],
    edits: loop('timekeeper.stopPoisonAtStart();', ''),
  },
  {
    name: 'a late report saves a task from being stopped',
    test: [badDays, 'a poison task is stopped even if its worker reports late every time'],
    edits: loop('if (!this.#isStopping)\n            timekeeper.stopPoison();', ''),
  },
  {
    name: 'expiries at startup count like later ones',
    test: [test, atStart],
    edits: loop('timekeeper.expireDue(startedAt, true)', 'timekeeper.expireDue(startedAt, false)'),
  },
  {
    name: 'leases that ran out during downtime are not expired at startup',
    test: [test, atStart],
    edits: loop('while (timekeeper.expireDue(startedAt, true).length > 0)', 'while (false)'),
  },
  {
    name: 'a task with a decision in flight is decided about again',
    test: [test, locked],
    edits: loop('if (tasks.isLocked(taskId))', 'if (false)'),
  },
  {
    name: 'an answer does not wait for the disk',
    test: [test, locked],
    edits: commits(
      'requestId, reply });',
      'requestId }); reply?.to.answer(reply.answer(this.#state));',
    ),
  },
  {
    name: 'a failed log does not end the coordinator',
    test: [test, failing],
    edits: commits('this.#onFailure(error);', ''),
  },
  {
    name: 'new requests are accepted during shutdown',
    test: [test, stopping],
    edits: loop(
      "if (this.#isStopping) {\n            pending.answer(rejected(request.id, 'STOPPING'));\n            return;",
      'if (false) {\n            return;',
    ),
  },
  {
    name: 'polls keep waiting during shutdown',
    test: [test, stopping],
    edits: loop('for (const poll of this.#polls.all())', 'for (const poll of [])'),
  },
  {
    name: 'a full disk ends the coordinator',
    test: [badDays, fullDisk],
    edits: commits("error.code === 'WAL_NO_SPACE'", 'false'),
  },
  {
    name: 'NO_SPACE lacks the time after which to retry',
    test: [badDays, fullDisk],
    edits: loop(
      "pending.answer(rejectedForNow(pending.request.id, 'NO_SPACE', noSpaceRetryMs));",
      "pending.answer(rejected(pending.request.id, 'NO_SPACE'));",
    ),
  },
  {
    name: 'submissions in flight do not count as waiting',
    test: [badDays, 'submissions in flight count towards the limits'],
    edits: editOf('coordinator-server', 'decide/task-manager')(
      'counts.waiting + submissions.count',
      'counts.waiting',
    ),
  },
  {
    name: 'payloads in flight count as no memory',
    test: [badDays, 'submissions in flight count towards the limits'],
    edits: editOf('coordinator-server', 'decide/task-manager')(
      'counts.bytes + submissions.bytes',
      'counts.bytes',
    ),
  },
  {
    name: 'a submission whose old task is being forgotten returns that task',
    test: [
      badDays,
      'a submission whose earlier task is being forgotten waits and creates a new task',
    ],
    edits: loop(
      'if (requestId !== undefined && this.#timekeeper.isIdBeingForgotten(requestId))',
      'if (false)',
    ),
  },
  {
    name: 'a task is forgotten before its retention ends',
    test: [badDays, retention],
    edits: keeper('at - knobs.retentionMs', 'at - knobs.retentionMs + 1'),
  },
  {
    name: 'more than a thousand tasks are forgotten in one record',
    test: [badDays, retention],
    edits: keeper('const tasksPerTurn = 1000;', 'const tasksPerTurn = 10_000;'),
  },
  {
    name: 'ended tasks are remembered without a limit',
    test: [badDays, 'ended tasks are forgotten at intervals, not with every batch'],
    edits: keeper('keep: knobs.retentionTasks', 'keep: Number.MAX_SAFE_INTEGER'),
  },
  {
    name: 'a full worker is granted a task',
    test: [polled, 'a worker is leased no more tasks than its capacity'],
    edits: leases('if (rankOf(advice) === noCapacity)', 'if (false)'),
  },
  {
    name: 'a poll of a full worker is served',
    test: [polled, 'a poll of a full worker is not served'],
    edits: waiting('fifo === undefined || fifo.rank === noCapacity', 'fifo === undefined'),
  },
  {
    name: 'polls are served by waiting time alone',
    test: [polled, 'waiting polls are served by free capacity, then by waiting time'],
    edits: waiting(
      'one.rank === other.rank ? one.arrival - other.arrival : other.rank - one.rank',
      'one.arrival - other.arrival',
    ),
  },
  {
    name: 'the fullest worker is served first',
    test: [polled, 'waiting polls are served by free capacity, then by waiting time'],
    edits: waiting('other.rank - one.rank', 'one.rank - other.rank'),
  },
]
