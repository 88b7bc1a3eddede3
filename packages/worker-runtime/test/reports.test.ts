import { messageLimits } from '@tenure/protocol'
import fc from 'fast-check'
import t from 'tap'
import { toReport } from '../src/attempt/report.js'
import type { Outcome } from '../src/index.js'
import { deadlineMs, World } from './world.js'

const committed = { kind: 'committed', state: 'COMPLETED' } as const
/** Short enough for no heartbeat to be due. */
const heartbeatlessMs = 5000

// ---- what is reported

t.test('a result is reported as it is', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  run.returns('the result')
  await world.rest()
  const [report] = world.coordinator.all('complete')
  t.equal(Buffer.from(report?.result ?? []).toString(), 'the result')
  t.match(report, { taskId: run.work.taskId, leaseId: run.work.leaseId })
})

t.test('no result is none, and an empty one is empty', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const [none, empty] = [await world.grant(), await world.grant()]
  none.returns()
  empty.returns('')
  await world.rest()
  const lengths = world.coordinator.all('complete').map(({ result }) => result?.length)
  t.strictSame(lengths, [undefined, 0])
})

t.test('a result that is too large is a failure', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const [fits, not] = [await world.grant(), await world.grant()]
  fits.returns('x'.repeat(5000))
  not.returns('x'.repeat(5001))
  await world.rest()
  const reason = 'the result has 5001 bytes; at most 5000 are taken'
  t.match(world.coordinator.reports, [{ kind: 'complete' }, { kind: 'fail', reason }])
})

t.test('the limit is the one of the connection that is there now', async (t) => {
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

t.test('a reason of any length is cut in whole characters, and only where it must be', (t) => {
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
      // Half a character cannot be sent.
      const whole = Buffer.from(text).toString()
      if (Buffer.byteLength(text) <= reasonBytesMax) return reason === whole
      // A character has at most four bytes, so at most three of the room are left over.
      const kept = reason.slice(0, -1)
      return reason.endsWith('…') && whole.startsWith(kept) && bytes > reasonBytesMax - 4
    }),
    { numRuns: 2000 },
  )
  t.end()
})

t.test('a reason says what happened', (t) => {
  t.equal(reasonOf({ kind: 'failed', reason: 'Error: no' }), 'Error: no')
  t.equal(reasonOf({ kind: 'crashed', reason: 'exit 3' }), 'exit 3')
  t.equal(reasonOf({ kind: 'terminated' }), 'terminated')
  t.equal(reasonOf({ kind: 'terminated' }, 'timeout'), 'timeout')
  t.equal(reasonOf({ kind: 'failed', reason: 'Error: no' }, 'timeout'), 'timeout; Error: no')
  t.end()
})

// ---- refusals that pass

for (const reason of ['STOPPING', 'NO_SPACE', 'OVERLOADED', 'TOO_MANY'] as const) {
  t.test(`a report refused with ${reason} is sent again under the same report_id`, async (t) => {
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

  t.test(`a report refused with ${reason} is never sent after the deadline`, async (t) => {
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

t.test('the coordinator says when a report may come again', async (t) => {
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

t.test('nobody waits longer than the lease for another sending', async (t) => {
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

t.test('a report that was never sent says so', async (t) => {
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

t.test('an answer that comes after the deadline still counts', async (t) => {
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

t.test('an answer of another kind is no answer', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').answer({ kind: 'empty' })
  await world.advance(100)
  t.equal(world.coordinator.reports.length, 2)
})

t.test('the payload is its own memory', async (t) => {
  await using world = await World.create()
  const run = await world.grant({ payload: Buffer.from('mine') })
  t.equal(Buffer.from(run.work.payload).toString(), 'mine')
  t.equal(run.work.payload.buffer.byteLength, 4)
  t.equal(run.work.payload.constructor, Uint8Array)
})
