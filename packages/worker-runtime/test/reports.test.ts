import { setImmediate } from 'node:timers/promises'
import { messageLimits } from '@tenure/protocol'
import fc from 'fast-check'
import t from 'tap'
import { toReport } from '../src/attempt/report.js'
import type { Outcome } from '../src/index.js'
import { deadlineMs, heartbeatMs, leaseMs, World } from './world.js'

const committed = { kind: 'committed', state: 'COMPLETED' } as const
/** Short enough that no heartbeat is due. */
const heartbeatlessMs = 5000

// ---- contents of reports

t.test('a result is reported unchanged', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  run.returns('the result')
  await world.rest()
  const [report] = world.coordinator.all('complete')
  t.equal(Buffer.from(report?.result ?? []).toString(), 'the result')
  t.match(report, { taskId: run.work.taskId, leaseId: run.work.leaseId })
})

t.test('no result and an empty result are reported as such', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const [none, empty] = [await world.grant(), await world.grant()]
  none.returns()
  empty.returns('')
  await world.rest()
  const lengths = world.coordinator.all('complete').map(({ result }) => result?.length)
  t.strictSame(lengths, [undefined, 0])
})

t.test('a result over the limit is reported as a failure', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const [fits, not] = [await world.grant(), await world.grant()]
  fits.returns('x'.repeat(5000))
  not.returns('x'.repeat(5001))
  await world.rest()
  const reason = 'the result has 5001 bytes; at most 5000 are accepted'
  t.match(world.coordinator.reports, [{ kind: 'complete' }, { kind: 'fail', reason }])
})

t.test('the limit is that of the current connection', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.coordinator.limits = { ...world.coordinator.limits, resultBytesMax: 10 }
  await world.cut()
  await world.advance(50)
  run.returns('x'.repeat(11))
  await world.rest()
  t.match(world.coordinator.reports, [{ kind: 'fail' }])
})

const facts = { taskId: 1, leaseId: 2, attempt: 1, queue: 'default' }
const { reasonBytesMax } = messageLimits

function reasonOf(outcome: Outcome, timeout?: string): string {
  const report = toReport(facts, 'r', outcome, 100, timeout)
  if (report.kind !== 'fail') throw new Error('it is no failure')
  return report.reason
}

t.test('a long reason is cut at a whole character', (t) => {
  const characters = fc.array(fc.constantFrom('a', 'é', '字', '🜂', '\ud83d', '\n'), {
    maxLength: 8,
  })
  const lengths = fc.integer({ min: reasonBytesMax - 16, max: reasonBytesMax + 8 })
  fc.assert(
    fc.property(characters, lengths, characters, (start, length, end) => {
      const text = `${start.join('')}${'b'.repeat(length - 8)}${end.join('')}`
      const reason = reasonOf({ kind: 'failed', reason: text })
      const bytes = Buffer.byteLength(reason)
      if (bytes > reasonBytesMax) return false
      // A lone surrogate cannot be sent.
      const whole = Buffer.from(text).toString()
      if (Buffer.byteLength(text) <= reasonBytesMax) return reason === whole
      // A character has at most four bytes, so at most three bytes stay unused.
      const kept = reason.slice(0, -1)
      return reason.endsWith('…') && whole.startsWith(kept) && bytes > reasonBytesMax - 4
    }),
    { numRuns: 2000 },
  )
  t.end()
})

t.test('the reason describes the outcome', (t) => {
  t.equal(reasonOf({ kind: 'failed', reason: 'Error: no' }), 'Error: no')
  t.equal(reasonOf({ kind: 'crashed', reason: 'exit 3' }), 'exit 3')
  t.equal(reasonOf({ kind: 'terminated' }), 'terminated')
  t.equal(reasonOf({ kind: 'terminated' }, 'timeout'), 'timeout')
  t.equal(reasonOf({ kind: 'failed', reason: 'Error: no' }, 'timeout'), 'timeout; Error: no')
  t.end()
})

// ---- transient rejections

for (const reason of ['STOPPING', 'NO_SPACE', 'OVERLOADED', 'TOO_MANY'] as const) {
  t.test(`a report rejected with ${reason} is resent with the same report_id`, async (t) => {
    await using world = await World.create()
    const run = await world.grant()
    run.returns('done')
    await world.rest()
    world.coordinator.take('complete').reject(reason)
    await world.advance(99)
    t.equal(world.coordinator.reports.length, 1)
    await world.advance(1)
    const [first, second] = world.coordinator.reports
    t.equal(second?.reportId, first?.reportId)
    world.coordinator.take('complete').answer(committed)
    await world.rest()
    t.equal(world.calls('committed').length, 1)
    t.strictSame(world.calls('rejected'), [])
  })

  t.test(`a report rejected with ${reason} is never sent after the deadline`, async (t) => {
    await using world = await World.create()
    const run = await world.grant()
    run.returns('done')
    const endsAtMs = world.now + deadlineMs
    while (world.now < endsAtMs + 60_000) {
      await world.advance(50)
      const { coordinator } = world
      if (coordinator.waiting('complete').length > 0) coordinator.take('complete').reject(reason)
    }
    t.ok(world.coordinator.reports.length > 5)
    const last = world.coordinator.asked.filter(({ request }) => request.kind === 'complete').at(-1)
    t.ok(last !== undefined && last.arrivedAtMs < endsAtMs)
    t.strictSame(world.words('unreported'), ['UNKNOWN'])
  })
}

t.test('the pauses between sendings double, up to five seconds', async (t) => {
  await using world = await World.create()
  const run = await world.grant({ leaseMs: 60_000 })
  run.returns('done')
  await world.rest()
  const { coordinator } = world
  for (const pauseMs of [100, 200, 400, 800, 1600, 3200, 5000, 5000]) {
    const before = coordinator.reports.length
    coordinator.take('complete').reject('NO_SPACE')
    await world.advance(pauseMs - 1)
    t.equal(coordinator.reports.length, before)
    await world.advance(1)
    t.equal(coordinator.reports.length, before + 1, `after ${pauseMs} ms`)
  }
})

t.test('the coordinator can set the pause before a report is resent', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').reject('OVERLOADED', 4000)
  await world.advance(3999)
  t.equal(world.coordinator.reports.length, 1)
  await world.advance(1)
  t.equal(world.coordinator.reports.length, 2)
})

t.test('a report does not wait beyond its lease to be resent', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').reject('NO_SPACE', 24 * 3600_000)
  await world.advance(deadlineMs)
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
  t.equal(world.worker.mode, 'leasing')
})

// ---- without an answer

t.test('a report that cannot be sent is given up at the deadline', async (t) => {
  await using world = await World.create({ requestTimeoutMs: Number.POSITIVE_INFINITY })
  const run = await world.grant()
  const endsAtMs = world.now + deadlineMs
  world.coordinator.isDown = true
  await world.cut()
  run.returns('done')
  await world.advance(endsAtMs - world.now - 1)
  t.strictSame(world.calls('unreported'), [])
  await world.advance(1)
  t.match(world.words('unreported'), ['NOT_SENT'])
  t.equal(world.worker.mode, 'leasing')
})

t.test('a report that was never sent is unreported as NOT_SENT', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.coordinator.isDown = true
  await world.cut()
  run.returns('done')
  await world.advance(deadlineMs + 60_000)
  world.coordinator.isDown = false
  await world.advance(60_000)
  t.strictSame(world.coordinator.reports, [])
  t.strictSame(world.words('unreported'), ['NOT_SENT'])
})

t.test('a report that waits for a connection is not sent after the deadline', async (t) => {
  await using world = await World.create({ requestTimeoutMs: Number.POSITIVE_INFINITY })
  const run = await world.grant()
  world.coordinator.isDown = true
  await world.cut()
  run.returns('done')
  await world.advance(deadlineMs)
  world.coordinator.isDown = false
  await world.advance(10_000)
  t.equal(world.worker.isConnected, true)
  t.strictSame(world.coordinator.reports, [])
  t.strictSame(world.words('unreported'), ['NOT_SENT'])
})

t.test('an answer after the deadline still counts', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(deadlineMs - heartbeatlessMs)
  run.returns('done')
  await world.advance(2 * heartbeatlessMs)
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.calls('committed').length, 1)
  t.strictSame(world.calls('unreported'), [])
})

t.test('an answer to the first of two sendings counts', async (t) => {
  await using world = await World.create({ requestTimeoutMs: 1000 })
  const run = await world.grant()
  run.returns('done')
  await world.rest()
  const first = world.coordinator.take('complete')
  await world.advance(1100)
  t.equal(world.coordinator.waiting('complete').length, 1)
  first.answer(committed)
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.calls('committed').length, 1)
  t.equal(world.worker.isConnected, true)
})

t.test('an answer of the wrong kind is ignored', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').answer({ kind: 'empty' })
  await world.advance(100)
  t.equal(world.coordinator.reports.length, 2)
})

t.test('the payload has its own memory', async (t) => {
  await using world = await World.create()
  const run = await world.grant({ payload: Buffer.from('mine') })
  t.equal(Buffer.from(run.work.payload).toString(), 'mine')
  t.equal(run.work.payload.buffer.byteLength, 4)
  t.equal(run.work.payload.constructor, Uint8Array)
})

// ---- after the deadline
//
// A handler that returns after the deadline has done its work. The coordinator gets one report, so that the
// log has the evidence (003 §4), and decides.

const abortGraceMs = 5000

/** A worker whose handler still runs after the deadline. */
async function overdue() {
  const world = await World.create({ abortGraceMs })
  const run = await world.grant()
  await world.advance(deadlineMs)
  return { world, run }
}

t.test('a result returned within the grace is reported once', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  await world.advance(abortGraceMs - 1)
  run.returns('done')
  await world.advance(10 * leaseMs)
  const { taskId, leaseId } = run.work
  t.match(world.coordinator.reports, [
    { kind: 'complete', taskId, leaseId, result: Buffer.from('done') },
  ])
  t.equal(world.calls('reportedLate').length, 1)
})

t.test('a late report is CANCELLED, and its result is dropped', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').answer({ kind: 'cancelled', reason: 'EXPIRED' })
  await world.advance(10 * leaseMs)
  t.match(world.words('cancelled'), [{ reason: 'EXPIRED' }])
  t.equal(world.coordinator.reports.length, 1)
  t.strictSame(world.calls('unreported'), [])
})

t.test('a late report may be COMMITTED, because the deadline is before the expiry', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.match(world.words('committed'), [committed])
  t.equal(world.worker.mode, 'leasing')
})

t.test(
  'the slot is free once the handler has ended, before its late report is answered',
  async (t) => {
    const { world, run } = await overdue()
    await using _ = world
    t.equal(world.coordinator.waiting('lease').length, 0)
    run.returns('done')
    await world.rest()
    t.equal(world.coordinator.waiting('complete').length, 1)
    t.equal(world.coordinator.waiting('lease').length, 1)
  },
)

for (const [what, outcome] of [
  ['throws', { kind: 'failed', reason: 'AbortError: aborted' }],
  ['crashes', { kind: 'crashed', reason: 'its thread exited' }],
  ['is terminated', { kind: 'terminated' }],
  ['returns more than a result may have', { kind: 'returned', result: Buffer.alloc(5001) }],
] as const) {
  t.test(`a handler that ${what} after the deadline is not reported`, async (t) => {
    const { world, run } = await overdue()
    await using _ = world
    run.end(outcome)
    await world.advance(leaseMs)
    t.strictSame(world.coordinator.reports, [])
    t.strictSame(world.words('unreported'), ['LEASE_LOST'])
  })
}

t.test('a result after the grace is not reported', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  world.isolation.terminates = 'never'
  await world.advance(abortGraceMs)
  run.returns('done')
  await world.advance(leaseMs)
  t.strictSame(world.coordinator.reports, [])
  t.strictSame(world.words('unreported'), ['LEASE_LOST'])
})

t.test('a late report is not resent after a lost connection', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  await world.cut()
  await world.advance(leaseMs)
  t.equal(world.coordinator.reports.length, 1)
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
})

t.test('a late report is not resent after a transient rejection', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').reject('NO_SPACE', 10)
  await world.advance(leaseMs)
  t.equal(world.coordinator.reports.length, 1)
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
})

t.test('the worker waits five seconds for the answer to a late report', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.advance(4999)
  t.strictSame(world.calls('unreported'), [])
  await world.advance(1)
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
  t.equal(world.worker.mode, 'leasing')
})

t.test('the worker waits five seconds for a connection to send a late report', async (t) => {
  for (const [awayMs, reports] of [
    [4000, 1],
    [5000, 0],
  ] as const) {
    const { world, run } = await overdue()
    await using _ = world
    world.coordinator.isDown = true
    await world.cut()
    run.returns('done')
    await world.advance(awayMs)
    world.coordinator.isDown = false
    await world.advance(leaseMs)
    t.equal(world.coordinator.reports.length, reports)
    t.equal(world.calls('reportedLate').length, reports)
    t.strictSame(world.words('unreported'), [reports === 1 ? 'UNKNOWN' : 'NOT_SENT'])
  }
})

t.test('a result is reported late after a loop that was blocked past the deadline', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.stall(10 * leaseMs)
  run.returns('done')
  await world.rest()
  t.strictSame(world.words('leaseLost'), ['DEADLINE'])
  t.match(world.coordinator.reports, [{ kind: 'complete', leaseId: run.work.leaseId }])
  await world.advance(leaseMs)
  t.equal(world.coordinator.reports.length, 1)
})

t.test('a pending late report does not delay the stop', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  void world.worker.stop()
  await world.rest()
  t.equal(world.worker.mode, 'draining')
  world.coordinator.take('complete').answer({ kind: 'cancelled', reason: 'EXPIRED' })
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.calls('cancelled').length, 1)
})

// ---- a loss that is reported within the grace

t.test('a heartbeat rejected after the deadline ends the grace', async (t) => {
  await using world = await World.create({ abortGraceMs })
  const run = await world.grant()
  await world.advance(heartbeatMs)
  const beat = world.coordinator.take('heartbeat')
  await world.advance(deadlineMs - heartbeatMs)
  t.equal(run.isTerminated, false)
  beat.reject('SUPERSEDED')
  await world.rest()
  t.equal(run.isTerminated, true)
  t.strictSame(world.words('leaseLost'), ['DEADLINE'], 'not a second loss')
  t.strictSame(world.coordinator.reports, [])
})

t.test('a transient rejection does not change the grace', async (t) => {
  await using world = await World.create({ abortGraceMs })
  const run = await world.grant()
  await world.advance(heartbeatMs)
  const beat = world.coordinator.take('heartbeat')
  await world.advance(deadlineMs - heartbeatMs)
  beat.reject('NO_SPACE')
  await world.rest()
  t.equal(run.isTerminated, false)
  run.returns('done')
  await world.rest()
  t.equal(world.coordinator.reports.length, 1)
})

t.test('a second grant of the task ends the grace of its first execution', async (t) => {
  await using world = await World.create({ abortGraceMs, concurrency: 2 })
  world.isolation.terminates = 'never'
  const run = await world.grant()
  await world.advance(deadlineMs)
  await world.grant({ taskId: run.work.taskId, attempt: 2 })
  t.equal(run.isTerminated, true)
  run.returns('done')
  await world.rest()
  t.strictSame(world.coordinator.reports, [])
})

t.test('an aborted handler is terminated once the loss is known', async (t) => {
  await using world = await World.create({ drainGraceMs: 1000, abortGraceMs: 60_000 })
  const run = await world.grant()
  await world.advance(heartbeatMs - 1000)
  void world.worker.stop()
  await world.advance(1000)
  // The heartbeat was sent at the moment when the drain grace ended.
  t.strictSame(run.abortCodes, ['WORKER_STOPPING'])
  t.equal(run.isTerminated, false)
  world.coordinator.take('heartbeat').reject('EXPIRED')
  await world.rest()
  t.equal(run.isTerminated, true)
})

t.test('inline: a handler that ends soon after its abort is not stuck', async (t) => {
  await using world = await World.create({
    isolation: 'inline',
    handler: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener(
          'abort',
          () => void setImmediate().then(() => reject(new Error('aborted'))),
        )
      }),
  })
  world.answerPoll()
  await world.advance(heartbeatMs)
  world.coordinator.take('heartbeat').reject('EXPIRED')
  await world.rest()
  await setImmediate()
  await world.advance(10 * leaseMs)
  t.strictSame(world.calls('handlerStuck'), [])
  t.equal(world.calls('handlerEnded').length, 1)
})
