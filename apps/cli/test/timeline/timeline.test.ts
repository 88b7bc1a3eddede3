import { equal, ok } from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { History, readTaskHistory } from '@tenure/history'
import { AttemptTracker, type TrackedAttempt } from '@tenure/history/internal'
import { encodeRecord } from '@tenure/state-machine'
import { Book, sourceOf } from '@tenure/testing-histories'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { drawHtml } from '../../src/timeline/html.js'
import { type LaneBox, layOut } from '../../src/timeline/layout.js'
import { decodeTaskHistory, recordingOfTask } from '../../src/timeline/recording.js'
import { metricsFor, placeScale } from '../../src/timeline/scale.js'
import { overlaps } from '../../src/timeline/span.js'
import { drawSvg } from '../../src/timeline/svg.js'
import { makeTimeline, type Timeline } from '../../src/timeline/timeline.js'
import { describeAttempt } from '../../src/timeline/words.js'
import { manyTasks, someTasks, timelineOf, twoTasks } from './histories.js'
import { attempts, writeBook } from './random-book.js'

t.test('a lane has the attempts of its task, with heartbeats, ends and late reports', async (t) => {
  const { lanes, openings } = await timelineOf(twoTasks())
  t.match(lanes, [
    {
      name: 'task 1',
      note: 'mail',
      outcome: 'COMPLETED',
      attempts: [
        {
          workerId: 'ada',
          end: { outcome: 'EXPIRED' },
          lateReport: { lsn: 10 },
          pulse: { count: 1 },
        },
        { workerId: 'ben', end: { outcome: 'COMPLETED' } },
      ],
    },
    { name: 'task 2', attempts: [{ workerId: 'ben' }] },
  ])
  t.match(openings, [{ epoch: 1 }])
})

t.test('a task waits until it is eligible, and then for a worker', async (t) => {
  const book = new Book({ startAt: 0 })
  const backoff = { kind: 'exponential', initialMs: 100, maxMs: 150 } as const
  const task = book.submit({ notBefore: 40, retryPolicy: { maxRetries: 2, backoff } })
  for (const ms of [50, 200, 300]) book.fail(book.wait(ms).lease(task))
  const [lane] = (await timelineOf(book)).lanes
  t.same(lane!.waits, [
    { from: 0, eligibleAt: 40, to: 50, leaseId: 2 },
    { from: 50, eligibleAt: 150, to: 250, leaseId: 4 },
    { from: 250, eligibleAt: 400, to: 550, leaseId: 6 },
  ])
  t.equal(lane!.outcome, 'FAILED')
})

t.test('of many tasks, repeated ones are drawn first, and all are counted', async (t) => {
  const timeline = await timelineOf(manyTasks({ tasks: 300 }))
  t.match(timeline, { lanesTotal: 300, lanes: { length: 40 } })
  const late = timeline.lanes.filter((lane) => lane.attempts.some(({ lateReport }) => lateReport))
  t.equal(late.length, timeline.overview.lateReports.count)
  const few = await timelineOf(manyTasks({ tasks: 300 }), { lanesMax: late.length })
  t.ok(late.length > 0)
  t.same(namesOf(few.lanes), namesOf(late), 'those with late reports first')
  const twice = (await timelineOf(manyTasks({ tasks: 300 }), { onlyRepeated: true })).lanesTotal
  t.equal(timeline.lanes.filter(({ attempts }) => attempts.length > 1).length, twice)
})

t.test('onlyRepeated leaves out tasks with fewer than two attempts', async (t) => {
  const { lanes, lanesTotal, overview } = await timelineOf(someTasks(), { onlyRepeated: true })
  t.same(
    lanes.map(({ name }) => name),
    ['task 1', 'task 2', 'task 4'],
  )
  t.match({ lanesTotal, attempts: overview.attempts }, { lanesTotal: 3, attempts: 7 })
  const workers = await timelineOf(someTasks(), { onlyRepeated: true, lanesBy: 'workers' })
  t.same(
    workers.lanes.map(({ name }) => name),
    ['ada', 'ben', 'dan', 'cora'],
  )
})

t.test('the lane of a worker has its attempts of all tasks', async (t) => {
  const { lanes } = await timelineOf(someTasks(), { lanesBy: 'workers' })
  const ada = lanes.find(({ name }) => name === 'ada')
  t.same(
    ada!.attempts.map(({ taskId }) => taskId),
    [1, 6, 4],
  )
})

t.test('a part of the log shows the attempts within it', async (t) => {
  const book = twoTasks()
  const middle = book.entries[7]!
  for (const from of [{ lsn: middle.lsn }, { at: middle.record.at }]) {
    const { span, lanes } = await timelineOf(book, { from, to: { lsn: 10 } })
    t.same(span, { from: middle.record.at, to: book.entries[9]!.record.at })
    t.same(namesOf(lanes), [['task 1', [1, 2]]])
  }
  const early = await timelineOf(book, { to: { lsn: 4 } })
  t.same(namesOf(early.lanes), [
    ['task 1', [1]],
    ['task 2', [1]],
  ])
  t.equal(early.lanes[0]!.outcome, 'LEASED')
  await t.rejects(timelineOf(book, { from: { lsn: 99 } }), /nothing is recorded/)
})

t.test('leases whose first records were removed come from a checkpoint', async (t) => {
  const book = new Book()
  const [stays, ends] = [book.submit(), book.submit()]
  const lease = book.lease(stays)
  book.complete(book.lease(ends))
  book.wait(1000).extend(lease)
  book.wait(1000).complete(lease)
  const removed = { checkpoints: [5], firstLsn: 6 }
  const { lanes, removedBefore } = await timelineOf(book, {}, removed)
  t.equal(removedBefore, 6)
  t.same(namesOf(lanes), [['task 1', [1]]])
  t.match(lanes[0]!.attempts, [{ leaseId: 3, end: { outcome: 'COMPLETED', at: book.now } }])
})

t.test('no silence is shown for a lease whose heartbeats were removed', async (t) => {
  const book = new Book()
  const lease = book.lease(book.submit())
  book.wait(10_000).extend(lease)
  book.submit()
  book.expire(lease)
  const [whole, cut] = await Promise.all([
    timelineOf(book),
    timelineOf(book, {}, { checkpoints: [4], firstLsn: 4 }),
  ])
  const told = ({ lanes }: typeof cut) => describeAttempt(lanes[0]!.attempts[0]!).join('; ')
  t.match(told(whole), /; 1 heartbeat; expired .* 30\.0 s after the last sign of life$/)
  t.match(told(cut), /; heartbeats: 0 or more, since records were removed; expired /)
  t.notMatch(told(cut), /sign of life/)
})

t.test('a log and the answer of a coordinator give the same timeline of a task', async (t) => {
  const book = twoTasks()
  const history = await readTaskHistory(new History(sourceOf(book)), 1)
  const { firstLsn, openings, entries } = history
  const records = entries.map(({ lsn, record }) => ({ lsn, bytes: encodeRecord(record) }))
  const answered = decodeTaskHistory(1, { firstLsn, openings, records })
  const options = { lanesBy: 'tasks', lanesMax: 40 } as const
  const [one, other] = await Promise.all(
    [history, answered].map((from) => makeTimeline(recordingOfTask('task 1', from), options)),
  )
  t.same(one, other)
  t.same(namesOf(one!.lanes), [['task 1', [1, 2]]])
})

t.test('of very many heartbeats, some and always the last are kept', async (t) => {
  const book = new Book()
  const lease = book.lease(book.submit())
  for (let at = 0; at < 3000; at++) book.wait(1000).extend(lease)
  const { pulse } = (await timelineOf(book)).lanes[0]!.attempts[0]!
  t.equal(pulse.count, 3000)
  t.ok(pulse.ticks.length <= 257)
  t.equal(pulse.ticks.at(-1), book.now)
})

function namesOf(lanes: Timeline['lanes']) {
  return lanes.map(({ name, attempts }) => [name, attempts.map(({ attempt }) => attempt)])
}

const numRuns = Number(process.env.TENURE_PROPERTY_RUNS ?? 150)
const lanesBy = fc.constantFrom('tasks', 'workers')
/** Sums of fractions are inexact. */
const epsilon = 1e-6

t.test('bars stay within the axis and do not overlap within a lane', async (t) => {
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
          if (next !== undefined) ok(right <= next.x + epsilon, 'bars of one row do not overlap')
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

t.test('attempts without a row are counted below the lane', async (t) => {
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

t.test('concurrent attempts are drawn in different rows', async (t) => {
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

// The pictures of the tour are golden files, too, so that they match the verb.
t.test('the pictures equal the reviewed golden files', async (t) => {
  const two = await timelineOf(twoTasks())
  isSame(t, 'apps/cli/test/golden/timeline/two-light.svg', drawSvg(two, 'light'))
  isSame(t, 'apps/cli/test/golden/timeline/two-dark.svg', drawSvg(two, 'dark'))
  const some = await timelineOf(someTasks())
  isSame(t, 'docs/timeline-small.svg', drawSvg(some, 'auto'))
  isSame(t, 'docs/timeline-dark.svg', drawSvg(some, 'dark'))
  const byWorker = await timelineOf(someTasks(), { lanesBy: 'workers' })
  isSame(t, 'docs/timeline-workers.svg', drawSvg(byWorker, 'auto'))
  isSame(
    t,
    'docs/timeline-large.svg',
    drawSvg(await timelineOf(manyTasks(), { lanesMax: 25 }), 'auto'),
  )
})

t.test('names and reasons are escaped', async (t) => {
  const book = new Book()
  const evil = `</title><script>alert("1")</script>&'\u0000\u202e\ufffe`
  const task = book.submit({ queue: '<b>&"' })
  book.fail(book.lease(task, evil), `${evil} reason`)
  book.kill(task, evil)
  const timeline = await timelineOf(book)
  for (const drawn of [drawSvg(timeline, 'auto'), drawHtml(timeline, 'auto')]) {
    t.notMatch(drawn, /<script|<b>/)
    t.match(drawn, '&#60;/title&#62;&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#38;&#39;')
    t.match(drawn, '\\u0000\\u202e\ufffd')
    t.notMatch(drawn.replaceAll('\n', ''), /[\p{Cc}\u202e\ufffe]/u)
  }
})

t.test('a long name is cut, but complete in the tooltip', async (t) => {
  const name = 'w'.repeat(128)
  const book = new Book()
  book.complete(book.wait(10).lease(book.submit(), name))
  const drawn = drawSvg(await timelineOf(book, { lanesBy: 'workers' }), 'auto')
  t.match(drawn, new RegExp(`<title>${name}</title>w+…</text>`))
  t.match(drawn, `worker ${name}\n`)
})

t.test('a picture is self-contained and describes itself', async (t) => {
  const timeline = await timelineOf(someTasks())
  const svg = drawSvg(timeline, 'auto')
  t.notMatch(svg.replace('http://www.w3.org/2000/svg', ''), /https?:|<script|<image|@import/)
  t.match(
    svg,
    /^<svg [^>]*role="img" aria-label="Tenure: [^"]*">\n<desc>2026-01-02 12:00:00.000Z to /,
  )
  t.equal(svg.match(/<g class="attempt/g)?.length, timeline.overview.attempts)
  t.match(svg, '@media (prefers-color-scheme:dark)')
  for (const theme of ['light', 'dark'] as const) t.notMatch(drawSvg(timeline, theme), '@media')
  const html = drawHtml(timeline, 'auto')
  t.equal(html.match(/<tr><td>/g)?.length, timeline.overview.attempts)
})

t.test('a picture of some lanes tells how they were chosen', async (t) => {
  const svg = drawSvg(await timelineOf(manyTasks()), 'auto')
  t.match(svg, /40 of 2,000 tasks are shown: tasks with several attempts first/)
})

/** TENURE_UPDATE_GOLDEN=1 draws the pictures anew; review them before you commit them. */
function isSame(t: Test, path: string, drawn: string): void {
  const file = fileURLToPath(new URL(`../../../../../${path}`, import.meta.url))
  if (process.env.TENURE_UPDATE_GOLDEN === '1') writeFileSync(file, drawn)
  t.equal(readFileSync(file, 'utf8'), drawn, path)
}
