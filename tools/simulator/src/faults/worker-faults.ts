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

/** What a worker takes for its own, and what it tells: 004, semantics §1. */
export const workerFaults: readonly Fault[] = [
  {
    name: 'a deadline forgets how long the request was held',
    test: [leased, 'a long poll does not eat the lease'],
    edits: authority('const totalMs = heldMs + durationMs;', 'const totalMs = durationMs;'),
  },
  {
    name: 'a deadline leaves no margin for the clocks',
    test: [leased, 'the deadline leaves a margin for clocks that drift apart'],
    edits: authority('- totalMs * this.#drift', ''),
  },
  {
    name: 'the margin is of the lease alone',
    test: [leased, 'the margin is of the whole time, also of that for which a poll waited'],
    edits: authority('- totalMs * this.#drift', '- durationMs * this.#drift'),
  },
  {
    name: 'a heartbeat moves no deadline',
    test: [leased, 'a heartbeat moves the deadline, counted from when it was sent'],
    edits: authority(
      'Math.max(this.#deadlineMs, this.#less(sentAtMs, heldMs, leaseMs))',
      'this.#deadlineMs',
    ),
  },
  {
    name: 'an answer that promises less shortens a lease',
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
    name: 'one poll is asked for all slots',
    test: [polled, 'there is one poll for each free slot'],
    edits: polls(
      'Math.min(pollsMax, this.#listener.freeSlots())',
      'Math.min(1, this.#listener.freeSlots())',
    ),
  },
  {
    name: 'a result that is too large is reported',
    test: [reported, 'a result that is too large is a failure'],
    edits: report('result.length > resultBytesMax', 'false'),
  },
  {
    name: 'a handler that is told again has its grace again',
    test: [ended, 'a handler that is told a second time has no more grace than before'],
    edits: ending('&& dueAtMs < this.#dueAtMs', ''),
  },
  {
    name: 'a connection of a worker is counted as a failure to poll',
    test: [observed, series],
    edits: metrics(
      'connected: () => this.#connections.inc()',
      'connected: () => this.#pollFailures.inc()',
    ),
  },
  {
    name: 'a heartbeat that failed is counted as one that was answered',
    test: [observed, series],
    edits: metrics(
      "heartbeatFailed: () => this.#heartbeats.inc({ outcome: 'failed' })",
      "heartbeatFailed: () => this.#heartbeats.inc({ outcome: 'extended' })",
    ),
  },
  {
    name: 'a lease that was lost by the clock is counted as a heartbeat',
    test: [observed, 'a lease lost by our own clock is no heartbeat that was lost'],
    edits: metrics('if (!unasked.includes(reason))', 'if (true)'),
  },
  {
    name: 'a report that was cancelled is counted as committed',
    test: [observed, series],
    edits: metrics(
      "this.#reports.inc({ answer: 'cancelled', reason })",
      "this.#reports.inc({ answer: 'committed', reason: '' })",
    ),
  },
  {
    name: 'a thread that ended is counted as a handler that is stuck',
    test: [observed, series],
    edits: metrics(
      'hostCrashed: () => this.#hostCrashes.inc()',
      'hostCrashed: () => this.#stuck.inc()',
    ),
  },
  {
    name: 'misuse of the protocol is no error of the worker',
    test: [failing, 'every reason means what the semantics say'],
    edits: refusals("WRONG_WORKER: 'misuse'", "WRONG_WORKER: 'innocent'"),
  },
  {
    name: 'what honest lateness earns ends the worker',
    test: [failing, 'every reason means what the semantics say'],
    edits: refusals("UNKNOWN_TASK: 'innocent'", "UNKNOWN_TASK: 'misuse'"),
  },
  {
    name: 'a worker keeps going by default',
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
    name: 'a handler goes on after the loss is known',
    test: [bound, '§4 stop all work: a handler is terminated when a heartbeat says SUPERSEDED'],
    edits: ending(
      'this.#reason ??= reason;\n        this.#isTerminated = this.#run.terminate();',
      'this.#reason ??= reason;',
    ),
  },
  {
    name: 'a handler that was told to end keeps its grace after the loss is known',
    test: [reported, 'a handler that was told to end is cut off when the loss is known'],
    edits: ending(
      'this.#reason ??= reason;\n        this.#isTerminated = this.#run.terminate();',
      'if (this.#reason === undefined) this.#isTerminated = this.#run.terminate();\n        this.#reason ??= reason;',
    ),
  },
  {
    name: 'a handler that cannot be terminated is not told of the loss',
    test: [bound, '§4 stop all work: a handler that cannot be terminated is told, and not heard'],
    edits: ending('else\n            this.tell(reason, graceMs);', ''),
  },
  {
    name: 'a result after the deadline is dropped',
    test: [reported, 'a result that is returned within the grace is reported once'],
    edits: execution('this.#reportLate(report);', "this.#giveUp('LEASE_LOST');"),
  },
  {
    name: 'a result after the grace is reported',
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
