import { Book, sourceOf } from '@tenure/testing-histories'
import t from 'tap'
import { explainTask, History, readTaskHistory } from '../src/index.js'
import { AttemptTracker } from '../src/internal.js'
import { twoTasks } from './world.js'

const lsnsOf = (entries: readonly { readonly lsn: number }[]) => entries.map(({ lsn }) => lsn)

t.test(
  "a task's history contains the records that name it and the extensions of its leases",
  async (t) => {
    const { book, ran, waits } = twoTasks()
    const other = book.lease(waits, 'w-3')
    book.wait(1000).extend(other)
    const history = new History(sourceOf(book))
    t.same(lsnsOf((await readTaskHistory(history, ran)).entries), [1, 3, 4, 5, 6, 7, 8])
    t.same(lsnsOf((await readTaskHistory(history, waits)).entries), [2, 9, 10])
    t.same((await readTaskHistory(history, 99)).entries, [])
  },
)

t.test("a task's history contains only the TasksForgotten that removed it", async (t) => {
  const book = new Book()
  const early = book.submit()
  const late = book.submit()
  const endOfEarly = book.complete(book.lease(early))
  book.forget(endOfEarly)
  const endOfLate = book.complete(book.lease(late))
  const dropped = book.forget(endOfLate)
  const { entries } = await readTaskHistory(new History(sourceOf(book)), late)
  t.equal(entries.at(-1)?.lsn, dropped)
  t.equal(entries.filter(({ record }) => record.type === 'TasksForgotten').length, 1)
})

t.test(
  'with removed records, the checkpoint gives the leases of the remaining heartbeats',
  async (t) => {
    const book = new Book()
    const task = book.submit()
    const lease = book.lease(task)
    book.submit()
    book.wait(1000).extend(lease)
    const history = new History(sourceOf(book, { checkpoints: [2, 3], firstLsn: 3 }))
    const { entries, firstLsn, remembered } = await readTaskHistory(history, task)
    t.same(lsnsOf(entries), [4])
    t.equal(firstLsn, 3)
    t.equal(remembered?.attempts[0]?.leaseId, lease)
  },
)

t.test(
  'a checkpoint after the moment does not show an expiry that a later heartbeat set',
  async (t) => {
    const book = new Book()
    const task = book.submit()
    const lease = book.lease(task)
    const until = { lsn: book.submit() }
    book.wait(1000).extend(lease)
    const history = new History(sourceOf(book, { checkpoints: [4], firstLsn: 3 }))
    const { remembered } = await readTaskHistory(history, task, { until })
    t.match(remembered, { state: 'LEASED', currentLeaseId: lease })
    t.notOk('leaseExpiry' in remembered!)
    t.strictSame(
      remembered?.attempts.map(({ leaseExpiry }) => leaseExpiry),
      [undefined],
    )
  },
)

t.test('a history up to a moment contains no later records and restarts', async (t) => {
  const { book, ran } = twoTasks()
  const history = new History(sourceOf(book))
  const { entries, openings } = await readTaskHistory(history, ran, { until: { lsn: 4 } })
  t.same(lsnsOf(entries), [1, 3, 4])
  t.equal(openings.length, 1)
  t.equal((await readTaskHistory(history, ran)).openings.length, 2)
})

t.test("an explanation mentions gaps after the task's creation, and no earlier ones", async (t) => {
  const book = new Book()
  const task = book.submit()
  const source = sourceOf(book)
  const gaps = [{ firstLsn: 2, lastLsn: 90 }]
  const openings = [...source.openings, { epoch: 2, firstLsn: 91, at: book.now + 1000 }]
  const history = new History({ ...source, gaps, openings })
  const told = explainTask(await readTaskHistory(history, task))
  t.match(told?.summary, /The log has no LSN 2 to 90: events of the task in that range/)
  const before = await readTaskHistory(history, task, { until: { at: book.now } })
  t.same(before.gaps, [])
  t.same((await readTaskHistory(new History({ ...source, gaps: [] }), task)).gaps, [])
})

t.test('a future moment is rejected', async (t) => {
  const { book, ran } = twoTasks()
  const history = new History(sourceOf(book))
  await t.rejects(readTaskHistory(history, ran, { until: { lsn: 9 } }), { code: 'HISTORY_NOT_YET' })
  t.ok(await readTaskHistory(history, ran, { until: { lsn: 8 } }))
})

t.test('kept entries stay valid when the reading continues', async (t) => {
  const book = new Book()
  const task = book.submit({ payload: Buffer.from('abc') })
  book.complete(book.lease(task), { result: Buffer.from('def') })
  const source = sourceOf(book)
  const overwriting = {
    ...source,
    async *replay(span: { fromLsn: number }) {
      for await (const run of source.replay(span)) {
        yield run
        for (const bytes of run.records) bytes.fill(0)
      }
    },
  }
  const { entries } = await readTaskHistory(new History(overwriting), task)
  const [created, , completed] = entries.map(({ record }) => record)
  t.equal(created?.type === 'TaskCreated' && String(Buffer.from(created.payload)), 'abc')
  t.equal(completed?.type === 'TaskCompleted' && String(Buffer.from(completed.result!)), 'def')
})

t.test('an attempt is followed from its grant to its end and its late report', (t) => {
  const { book, ran, first, second } = twoTasks()
  const tracker = new AttemptTracker()
  for (const entry of book.entries) tracker.add(entry)
  const lost = tracker.get(first)!
  t.match(lost, {
    taskId: ran,
    attempt: 1,
    workerId: 'w-1',
    end: { outcome: 'EXPIRED', atStart: false },
  })
  t.equal(lost.leaseExpiry - lost.grantedAt, book.leaseMs)
  t.equal(lost.heartbeats[0]!.newLeaseExpiry, lost.end!.at)
  t.equal(lost.lateReport?.lsn, 8)
  t.match(tracker.get(second), { attempt: 2, workerId: 'w-2', end: { outcome: 'COMPLETED' } })
  t.same(
    [...tracker.all()].map(({ leaseId }) => leaseId),
    [first, second],
  )
  tracker.forget(first)
  t.equal(tracker.get(first), undefined)
  t.end()
})

t.test('stopping a task ends only its running attempt', (t) => {
  const book = new Book()
  const task = book.submit()
  const failed = book.lease(task)
  book.fail(failed, 'no')
  const running = book.wait(1000).lease(task)
  book.kill(task, 'enough')
  const tracker = new AttemptTracker()
  for (const entry of book.entries) tracker.add(entry)
  t.match(tracker.get(failed)?.end, { outcome: 'FAILED', reason: 'no' })
  t.match(tracker.get(running)?.end, { outcome: 'DEAD', reason: 'enough' })
  t.end()
})
