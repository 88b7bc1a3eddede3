import { editOf, type Fault } from './fault.js'

const leased = 'packages/worker-runtime/test/leases.test.ts'
const polled = 'packages/worker-runtime/test/polls.test.ts'
const reported = 'packages/worker-runtime/test/reports.test.ts'
const observed = 'packages/worker-runtime/test/observer.test.ts'
const series = 'each hook increments only its own series'
const bound = 'packages/worker-runtime/test/contract.test.ts'
const ended = 'packages/worker-runtime/test/drain.test.ts'

const authority = editOf('worker-runtime', 'attempt/authority')
const polls = editOf('worker-runtime', 'polling/polls')
const report = editOf('worker-runtime', 'attempt/report')
const failing = 'packages/worker-runtime/test/failing.test.ts'
const settled = 'packages/worker-runtime/test/start.test.ts'

const refusals = editOf('worker-runtime', 'refusals')
const metrics = editOf('worker-runtime', 'observe/metrics')
const termination = editOf('worker-runtime', 'attempt/termination')
const execution = editOf('worker-runtime', 'attempt/execution')
const outage = editOf('worker-runtime', 'polling/outage')

/** Lease deadlines, reports and metrics of a worker: 004, semantics §1. */
export const workerFaults: readonly Fault[] = [
  {
    name: 'a deadline ignores how long the request was held',
    test: [leased, 'a long poll does not shorten the lease'],
    edits: authority('const totalMs = heldMs + durationMs;', 'const totalMs = durationMs;'),
  },
  {
    name: 'a deadline leaves no margin for the clocks',
    test: [leased, 'the deadline leaves a margin for clock drift'],
    edits: authority('- totalMs * this.#drift', ''),
  },
  {
    name: 'the clock margin covers only the lease',
    test: [leased, 'the margin covers the whole time, including the wait of the poll'],
    edits: authority('- totalMs * this.#drift', '- durationMs * this.#drift'),
  },
  {
    name: 'a heartbeat does not move the deadline',
    test: [leased, 'a heartbeat moves the deadline, counted from its sending'],
    edits: authority(
      'Math.max(this.#deadlineMs, this.#withMargin(sentAtMs, heldMs, leaseMs))',
      'this.#deadlineMs',
    ),
  },
  {
    name: 'an answer with a shorter lease shortens the lease',
    test: [leased, 'an answer to a heartbeat never shortens the deadline'],
    edits: authority(
      'Math.max(this.#deadlineMs, this.#withMargin(sentAtMs, heldMs, leaseMs))',
      'this.#withMargin(sentAtMs, heldMs, leaseMs)',
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
    test: [reported, 'a result over the limit is reported as a failure'],
    edits: report('result.length > resultBytesMax', 'false'),
  },
  {
    name: 'a second abort restarts the grace period',
    test: [ended, 'a second abort does not extend the grace'],
    edits: termination('&& dueAtMs < this.#dueAtMs', ''),
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
    test: [observed, "a lease lost by the worker's clock is not counted as a lost heartbeat"],
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
    test: [failing, 'every reason has the meaning in docs/semantics.md'],
    edits: refusals("WRONG_WORKER: 'misuse'", "WRONG_WORKER: 'tolerated'"),
  },
  {
    name: 'the rejection of a late report ends the worker',
    test: [failing, 'every reason has the meaning in docs/semantics.md'],
    edits: refusals("UNKNOWN_TASK: 'tolerated'", "UNKNOWN_TASK: 'misuse'"),
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
    edits: termination(
      'this.#reason ??= reason;\n        this.#isTerminated = this.#run.terminate();',
      'this.#reason ??= reason;',
    ),
  },
  {
    name: 'an aborted handler keeps its grace period after the lease is known to be lost',
    test: [reported, 'an aborted handler is terminated once the loss is known'],
    edits: termination(
      'this.#reason ??= reason;\n        this.#isTerminated = this.#run.terminate();',
      'if (this.#reason === undefined) this.#isTerminated = this.#run.terminate();\n        this.#reason ??= reason;',
    ),
  },
  {
    name: 'a handler that cannot be terminated is not told that its lease is lost',
    test: [bound, '§4 stop all work: a handler that cannot be terminated is aborted and ignored'],
    edits: termination('else\n            this.abort(reason, graceMs);', ''),
  },
  {
    name: 'a result after the deadline is dropped',
    test: [reported, 'a result returned within the grace is reported once'],
    edits: execution('this.#reportLate(report);', "this.#giveUp('LEASE_LOST');"),
  },
  {
    name: 'a result after the grace period is reported',
    test: [reported, 'a result after the grace is not reported'],
    edits: execution('this.#termination?.isGraceOver !== true', 'true'),
  },
  {
    name: 'a failure after the deadline is reported',
    test: [reported, 'a handler that throws after the deadline is not reported'],
    edits: execution("if (report?.kind === 'complete')", 'if (report !== undefined)'),
  },
  {
    name: 'a worker never gives up looking for a coordinator',
    test: [failing, 'a start without a coordinator gives up and names the last error'],
    edits: outage(
      'if (this.#limitMs === Number.POSITIVE_INFINITY || this.#isStopped)',
      'if (true)',
    ),
  },
  {
    name: 'a connection that breaks as soon as it is made ends the outage',
    test: [failing, 'connections that break immediately do not end an outage'],
    edits: outage('if (now - this.#endedAtMs >= provenMs)', 'if (true)'),
  },
]
