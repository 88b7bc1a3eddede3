import { editOf, type Fault } from './fault.js'

const leased = 'packages/worker-runtime/test/leases.test.ts'
const polled = 'packages/worker-runtime/test/polls.test.ts'
const reported = 'packages/worker-runtime/test/reports.test.ts'
const observed = 'packages/worker-runtime/test/observer.test.ts'
const series = 'each hook is counted by its own series, and by no other'
const bound = 'packages/worker-runtime/test/contract.test.ts'
const ended = 'packages/worker-runtime/test/drain.test.ts'

const authority = editOf('worker-runtime', 'attempt/authority')
const polls = editOf('worker-runtime', 'polling/polls')
const report = editOf('worker-runtime', 'attempt/report')
const failing = 'packages/worker-runtime/test/failing.test.ts'
const settled = 'packages/worker-runtime/test/start.test.ts'

const refusals = editOf('worker-runtime', 'refusals')
const metrics = editOf('worker-runtime', 'observe/metrics')
const ending = editOf('worker-runtime', 'attempt/ending')
const execution = editOf('worker-runtime', 'attempt/execution')
const outage = editOf('worker-runtime', 'polling/outage')

/** Lease deadlines, reports and metrics of a worker: 004, semantics §1. */
export const workerFaults: readonly Fault[] = [
  {
    name: 'a deadline ignores how long the request was held',
    test: [leased, 'a long poll does not eat the lease'],
    edits: authority('const totalMs = heldMs + durationMs;', 'const totalMs = durationMs;'),
  },
  {
    name: 'a deadline leaves no margin for the clocks',
    test: [leased, 'the deadline leaves a margin for clocks that drift apart'],
    edits: authority('- totalMs * this.#drift', ''),
  },
  {
    name: 'the clock margin covers only the lease',
    test: [leased, 'the margin is of the whole time, also of that for which a poll waited'],
    edits: authority('- totalMs * this.#drift', '- durationMs * this.#drift'),
  },
  {
    name: 'a heartbeat does not move the deadline',
    test: [leased, 'a heartbeat moves the deadline, counted from when it was sent'],
    edits: authority(
      'Math.max(this.#deadlineMs, this.#less(sentAtMs, heldMs, leaseMs))',
      'this.#deadlineMs',
    ),
  },
  {
    name: 'an answer with a shorter lease shortens the lease',
    test: [leased, 'an answer to a heartbeat that promises less shortens nothing'],
    edits: authority(
      'Math.max(this.#deadlineMs, this.#less(sentAtMs, heldMs, leaseMs))',
      'this.#less(sentAtMs, heldMs, leaseMs)',
    ),
  },
  {
    name: 'a lease is counted from its arrival',
    test: [leased, 'the deadline is counted from when the request was sent'],
    edits: polls(
      'this.#take(outcome, sentAtMs);',
      'this.#take(outcome, link.clock.monotonicMs());',
    ),
  },
  {
    name: 'one poll asks for all slots',
    test: [polled, 'there is one poll for each free slot'],
    edits: polls(
      'Math.min(pollsMax, this.#listener.freeSlots())',
      'Math.min(1, this.#listener.freeSlots())',
    ),
  },
  {
    name: 'an oversized result is reported',
    test: [reported, 'a result that is too large is a failure'],
    edits: report('result.length > resultBytesMax', 'false'),
  },
  {
    name: 'a second abort restarts the grace period',
    test: [ended, 'a handler that is told a second time has no more grace than before'],
    edits: ending('&& dueAtMs < this.#dueAtMs', ''),
  },
  {
    name: 'a connection of a worker is counted as a poll failure',
    test: [observed, series],
    edits: metrics(
      'connected: () => this.#connections.inc()',
      'connected: () => this.#pollFailures.inc()',
    ),
  },
  {
    name: 'a failed heartbeat is counted as an answered one',
    test: [observed, series],
    edits: metrics(
      "heartbeatFailed: () => this.#heartbeats.inc({ outcome: 'failed' })",
      "heartbeatFailed: () => this.#heartbeats.inc({ outcome: 'extended' })",
    ),
  },
  {
    name: 'a lease lost by the clock is counted as a lost heartbeat',
    test: [observed, 'a lease lost by our own clock is no heartbeat that was lost'],
    edits: metrics('if (!unasked.includes(reason))', 'if (true)'),
  },
  {
    name: 'a cancelled report is counted as committed',
    test: [observed, series],
    edits: metrics(
      "this.#reports.inc({ answer: 'cancelled', reason })",
      "this.#reports.inc({ answer: 'committed', reason: '' })",
    ),
  },
  {
    name: 'an ended thread is counted as a stuck handler',
    test: [observed, series],
    edits: metrics(
      'hostCrashed: () => this.#hostCrashes.inc()',
      'hostCrashed: () => this.#stuck.inc()',
    ),
  },
  {
    name: 'misuse of the protocol does not end the worker',
    test: [failing, 'every reason means what the semantics say'],
    edits: refusals("WRONG_WORKER: 'misuse'", "WRONG_WORKER: 'innocent'"),
  },
  {
    name: 'the rejection of a late report ends the worker',
    test: [failing, 'every reason means what the semantics say'],
    edits: refusals("UNKNOWN_TASK: 'innocent'", "UNKNOWN_TASK: 'misuse'"),
  },
  {
    name: 'a worker never gives up on its coordinator by default',
    test: [settled, 'the defaults are those of the README'],
    edits: editOf('worker-runtime', 'options')('keepGoing = false', 'keepGoing = true'),
  },
  {
    name: 'a worker gives up by default',
    test: [settled, 'the defaults are those of the README'],
    edits: editOf('worker-runtime', 'options')(
      'giveUpAfterMs = Number.POSITIVE_INFINITY',
      'giveUpAfterMs = 60_000',
    ),
  },
  {
    name: 'a handler continues after its lease is known to be lost',
    test: [bound, '§4 stop all work: a handler is terminated when a heartbeat says SUPERSEDED'],
    edits: ending(
      'this.#reason ??= reason;\n        this.#isTerminated = this.#run.terminate();',
      'this.#reason ??= reason;',
    ),
  },
  {
    name: 'an aborted handler keeps its grace period after the lease is known to be lost',
    test: [reported, 'a handler that was told to end is cut off when the loss is known'],
    edits: ending(
      'this.#reason ??= reason;\n        this.#isTerminated = this.#run.terminate();',
      'if (this.#reason === undefined) this.#isTerminated = this.#run.terminate();\n        this.#reason ??= reason;',
    ),
  },
  {
    name: 'a handler that cannot be terminated is not told that its lease is lost',
    test: [bound, '§4 stop all work: a handler that cannot be terminated is told, and not heard'],
    edits: ending('else\n            this.tell(reason, graceMs);', ''),
  },
  {
    name: 'a result after the deadline is dropped',
    test: [reported, 'a result that is returned within the grace is reported once'],
    edits: execution('this.#reportLate(report);', "this.#giveUp('LEASE_LOST');"),
  },
  {
    name: 'a result after the grace period is reported',
    test: [reported, 'a result that comes after the grace is not reported'],
    edits: execution('this.#ending?.isGraceOver !== true', 'true'),
  },
  {
    name: 'a failure after the deadline is reported',
    test: [reported, 'a handler that throws after the deadline is not reported'],
    edits: execution("if (report?.kind === 'complete')", 'if (report !== undefined)'),
  },
  {
    name: 'a worker never gives up looking for a coordinator',
    test: [failing, 'a start that finds no coordinator gives up, and says what it met'],
    edits: outage(
      'if (this.#limitMs === Number.POSITIVE_INFINITY || this.#isStopped)',
      'if (true)',
    ),
  },
  {
    name: 'a connection that breaks as soon as it is made ends the outage',
    test: [failing, 'connections that break as soon as they are made end no outage'],
    edits: outage('if (now - this.#endedAtMs >= provenMs)', 'if (true)'),
  },
]
