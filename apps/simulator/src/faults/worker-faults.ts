import { editOf, type Fault } from './fault.js'

const leased = 'packages/worker-runtime/test/leases.test.ts'
const polled = 'packages/worker-runtime/test/polls.test.ts'
const reported = 'packages/worker-runtime/test/reports.test.ts'
const observed = 'packages/worker-runtime/test/observer.test.ts'
const series = 'each hook is counted by its own series, and by no other'
const ended = 'packages/worker-runtime/test/ending.test.ts'

const authority = editOf('worker-runtime', 'authority')
const polls = editOf('worker-runtime', 'polls')
const report = editOf('worker-runtime', 'report')
const failing = 'packages/worker-runtime/test/failing.test.ts'
const settled = 'packages/worker-runtime/test/options.test.ts'

const refusals = editOf('worker-runtime', 'refusals')
const metrics = editOf('worker-runtime', 'metrics')
const ending = editOf('worker-runtime', 'ending')

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
]
