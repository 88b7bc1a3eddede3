import { equal, ok } from 'node:assert/strict'
import { AttemptTracker, type TrackedAttempt } from '@tenure/history'
import { Book } from '@tenure/testing-histories'
import fc from 'fast-check'
import t from 'tap'
import { type LaneBox, layOut } from '../../src/timeline/layout.js'
import { metricsFor, placeScale } from '../../src/timeline/scale.js'
import { overlaps } from '../../src/timeline/span.js'
import type { Timeline } from '../../src/timeline/timeline.js'
import { attempts, writeBook } from './random-book.js'
import { timelineOf } from './world.js'

const numRuns = Number(process.env.TENURE_PROPERTY_RUNS ?? 150)
const lanesBy = fc.constantFrom('tasks', 'workers')
/** Sums of fractions are not exact. */
const epsilon = 1e-6

t.test('no bar lies outside the axis, and none covers another one of its lane', async (t) => {
  const cases = fc.asyncProperty(
    attempts,
    lanesBy,
    fc.integer({ min: 1, max: 6 }),
    async (steps, by, lanesMax) => {
      const book = writeBook(steps)
      const { scale, lanes } = lay(await timelineOf(book, { lanesBy: by, lanesMax }))
      for (const { bars, height } of lanes) {
        for (const bar of bars) {
          ok(bar.x >= scale.left && bar.x + bar.width <= scale.right + epsilon && bar.width >= 2)
          ok(bar.y > 0 && bar.y + bar.height < height && bar.solidWidth <= bar.width)
          const right = Math.max(bar.x + bar.width, bar.lateX ?? 0)
          const next = bars.find((other) => other.y === bar.y && other.x > bar.x)
          if (next !== undefined) ok(right <= next.x + epsilon, 'bars of one row follow each other')
        }
      }
    },
  )
  await t.resolves(fc.assert(cases, { numRuns }))
})

t.test('every attempt of the span is drawn or counted', async (t) => {
  const cases = fc.asyncProperty(attempts, lanesBy, fc.nat(), async (steps, by, place) => {
    const book = writeBook(steps)
    const from = { lsn: 1 + (place % book.entries.length) }
    const timeline = await timelineOf(book, { lanesBy: by, lanesMax: 500, from })
    const { span } = timeline
    const { lanes } = lay(timeline)
    const ran = ({ grantedAt, end }: Ran) => overlaps(span, grantedAt, end?.at ?? span.to)
    const expected = attemptsOf(book).filter(ran)
    const bars = lanes.flatMap(({ bars }) => bars.map(({ attempt }) => attempt))
    const counted = lanes.reduce((sum, { rest }) => sum + (rest?.attempts ?? 0), 0)
    equal(new Set(bars.map(({ leaseId }) => leaseId)).size, bars.length)
    equal(bars.filter(ran).length + counted, expected.length)
    equal(timeline.overview.attempts, expected.length)
  })
  await t.resolves(fc.assert(cases, { numRuns }))
})

t.test('what has no row is counted below the lane, however much it is', async (t) => {
  const book = new Book()
  const task = book.submit({
    retryPolicy: { maxRetries: 999, backoff: { kind: 'fixed', delayMs: 0 } },
  })
  for (let at = 0; at < 700; at++) book.fail(book.wait(1).lease(task))
  for (const lanesBy of ['tasks', 'workers'] as const) {
    const timeline = await timelineOf(book, { lanesBy })
    const [lane] = lay(timeline).lanes
    t.equal(lane!.bars.length + lane!.rest!.attempts, 700)
    t.equal(timeline.overview.endings.FAILED.count, 700)
    t.match(timeline.lanes[0]!.rest!.outcomes, new Map([['FAILED', 300]]))
  }
})

t.test('attempts stand below each other where the executions overlapped', async (t) => {
  const book = new Book()
  const task = book.submit()
  const stalled = book.lease(task)
  book.expire(stalled)
  const second = book.wait(5).lease(task, 'w-2')
  book.wait(5000).cancel(stalled)
  book.wait(5000).complete(second)
  const [lane] = lay(await timelineOf(book)).lanes
  const [first, other] = lane!.bars
  t.ok(other!.y >= first!.y + first!.height)
  t.match(lane!.twice, [{ x: other!.x, width: first!.lateX! - other!.x }])
})

t.test('a bar is solid up to the last sign of life', async (t) => {
  const book = new Book({ leaseMs: 1000 })
  const lease = book.lease(book.submit())
  book.wait(500).extend(lease)
  book.expire(lease)
  const { scale, lanes } = lay(await timelineOf(book))
  const [bar] = lanes[0]!.bars
  t.equal(bar!.solidWidth, scale.width / 3)
  t.same(bar!.beats, [bar!.x + scale.width / 3])
})

type Ran = Pick<TrackedAttempt, 'grantedAt' | 'end'>

function lay(timeline: Timeline): { scale: ReturnType<typeof placeScale>; lanes: LaneBox[] } {
  const scale = placeScale(timeline)
  const metrics = metricsFor(timeline.lanes.length)
  return { scale, lanes: timeline.lanes.map((lane) => layOut(lane, scale, metrics)) }
}

function attemptsOf(book: Book) {
  const tracker = new AttemptTracker()
  for (const entry of book.entries) tracker.add(entry)
  return [...tracker.all()]
}
