import {
  apply,
  createState,
  encodeRecord,
  encodeState,
  hashState,
  type LogRecord,
} from '@tenure/state-machine'
import { Book, sourceOf } from '@tenure/testing-histories'
import t from 'tap'
import { type LogSource, verifyHistory } from '../src/index.js'
import { assessLoss, type Fragment } from '../src/internal.js'
import { twoTasks, withBadCheckpoint } from './world.js'

// ---- the records of a log

/** A copy of the log with another record at one LSN. */
function withRecord(source: LogSource, lsn: number, record: Uint8Array): LogSource {
  return {
    ...source,
    async *replay(options) {
      for await (const { firstLsn, records } of source.replay(options)) {
        yield { firstLsn, records: records.map((it, at) => (firstLsn + at === lsn ? record : it)) }
      }
    },
  }
}

t.test(
  'a complete history is applied from its beginning, and every checkpoint is equal',
  async (t) => {
    const { book } = twoTasks()
    const told: number[] = []
    const source = sourceOf(book, { checkpoints: [2, 5, 8], runLength: 2 })
    const found = await verifyHistory(source, { onProgress: (lsn) => told.push(lsn) })
    t.same(found, {
      applied: 8,
      onlyRead: 0,
      beganAt: 0,
      lastLsn: 8,
      lastAt: book.now,
      stateHash: hashState(book.state),
      checkpoints: [2, 5, 8].map((lsn) => ({ lsn, verdict: 'equal' })),
    })
    t.equal(told.at(-1), 8)
  },
)

t.test(
  'without the beginning, checkpoints are compared with a replay from the oldest one',
  async (t) => {
    const { book } = twoTasks()
    const found = await verifyHistory(sourceOf(book, { checkpoints: [4, 7], firstLsn: 3 }))
    t.match(found, { applied: 4, onlyRead: 2, beganAt: 4, stateHash: hashState(book.state) })
    t.equal(found.fault, undefined)
    t.same(found.checkpoints, [
      { lsn: 4, verdict: 'not-compared' },
      { lsn: 7, verdict: 'equal' },
    ])
    const none = await verifyHistory(sourceOf(book, { firstLsn: 3 }))
    t.match(none.fault, { code: 'HISTORY_REMOVED' })
  },
)

t.test('a checkpoint with another state is reported, and one that cannot be read', async (t) => {
  const { book } = twoTasks()
  const source = sourceOf(book, { checkpoints: [3, 5] })
  const other = new Book({ startAt: book.entries[0]!.record.at })
  for (let count = 0; count < 5; count++) other.submit()
  const wrong = {
    ...source,
    async *readCheckpoint(lsn: number) {
      yield* lsn === 5 ? encodeState(other.state) : source.readCheckpoint(lsn)
    },
  }
  const { checkpoints, stateHash } = await verifyHistory(wrong)
  t.match(checkpoints, [
    { lsn: 3, verdict: 'equal' },
    { lsn: 5, verdict: 'different', why: 'replaying the records gives a different state' },
  ])
  t.equal(stateHash, hashState(book.state))
  const broken = await verifyHistory(withBadCheckpoint(source, 3))
  t.match(broken.checkpoints, [
    { lsn: 3, verdict: 'unreadable', why: 'it breaks off' },
    { lsn: 5, verdict: 'equal' },
  ])
})

t.test('a checkpoint ahead of the records is reported as different', async (t) => {
  const { book } = twoTasks()
  const source = sourceOf(book, { checkpoints: [3] })
  const { checkpoints } = await verifyHistory({ ...source, async *replay() {} })
  t.match(checkpoints, [{ lsn: 3, verdict: 'different', why: 'the records end at LSN 0' }])
})

t.test('a bad record is reported with the result up to it', async (t) => {
  const { book } = twoTasks()
  const source = sourceOf(book)
  const early = {
    ...book.entries[5 - 1]!.record,
    at: book.entries[4 - 1]!.record.at,
  } as LogRecord
  const broken = await verifyHistory(withRecord(source, 5, encodeRecord(early)))
  t.match(broken, { applied: 0, lastLsn: 4, fault: { code: 'STATE_INVARIANT_VIOLATION' } })
  t.match(broken.fault?.message, /^LeaseExpired at LSN 5: /)
  const none = await verifyHistory(withRecord(source, 5, Buffer.from('none')))
  t.match(none.fault, { code: 'HISTORY_UNREADABLE_RECORD', message: /LSN 5: / })
})

t.test(
  'records that are removed during the reading throw an error and are not a fault',
  async (t) => {
    const source = sourceOf(twoTasks().book)
    const gone = {
      ...source,
      // biome-ignore lint/correctness/useYield: it fails before.
      async *replay() {
        throw Object.assign(new Error('gone'), { code: 'WAL_FORGOTTEN' })
      },
    }
    await t.rejects(verifyHistory(gone), { code: 'WAL_FORGOTTEN' })
  },
)

t.test('a replay continues from a checkpoint of records that were given up', async (t) => {
  const { book } = twoTasks()
  const gaps = [{ firstLsn: 1, lastLsn: 999 }]
  const source = { ...sourceOf(book, { checkpoints: [3] }), gaps, async *replay() {} }
  const { checkpoints, fault, lastLsn } = await verifyHistory(source)
  t.same({ fault, lastLsn }, { fault: undefined, lastLsn: 3 })
  t.same(checkpoints, [{ lsn: 3, verdict: 'not-compared' }])
})

// ---- a loss that is accepted

function stateAfter(book: Book, lsn: number) {
  const state = createState()
  for (const entry of book.entries.slice(0, lsn)) apply(state, entry.lsn, entry.record)
  return state
}

/** The remaining records of the book: those of these LSNs, each in its own batch. */
async function* left(book: Book, lsns: readonly number[]): AsyncGenerator<Fragment> {
  for (const lsn of lsns) {
    const records = [encodeRecord(book.entries[lsn - 1]!.record)]
    yield { firstLsn: lsn, count: 1, records }
  }
}

t.test('a loss lists the tasks that vanish, run again, or may have ended', async (t) => {
  const book = new Book()
  const [completed, stopped, open] = [book.submit(), book.submit(), book.submit()]
  const lease = book.lease(completed)
  const kept = book.nextLsn - 1
  const doneAt = book.complete(lease)
  const deadAt = book.kill(stopped)
  const fresh = book.submit({ queue: 'mail', requestId: 'r-1' })
  const ended = book.submit()
  book.complete(book.lease(ended))
  const all = book.entries.slice(kept).map(({ lsn }) => lsn)
  const loss = await assessLoss(stateAfter(book, kept), left(book, all))
  t.same(loss, {
    keptThrough: kept,
    lastKnownLsn: book.nextLsn - 1,
    readable: [{ firstLsn: kept + 1, lastLsn: book.nextLsn - 1 }],
    unreadable: [],
    vanishing: [
      { taskId: fresh, queue: 'mail', requestId: 'r-1' },
      { taskId: ended, ended: 'COMPLETED' },
    ],
    undone: [
      { taskId: completed, ended: 'COMPLETED', lsn: doneAt },
      { taskId: stopped, ended: 'DEAD', lsn: deadAt },
    ],
    open: [{ taskId: open, state: 'WAITING' }],
  })
})

t.test('a loss lists the unreadable records and the last known LSN', async (t) => {
  const book = new Book()
  const task = book.submit()
  for (let count = 0; count < 9; count++) book.submit()
  async function* fragments(): AsyncGenerator<Fragment> {
    yield* left(book, [4, 5, 8])
    yield { firstLsn: 10, count: 1 }
  }
  const loss = await assessLoss(stateAfter(book, 1), fragments(), { lastKnownLsn: 12 })
  t.match(loss, {
    keptThrough: 1,
    lastKnownLsn: 12,
    readable: [
      { firstLsn: 4, lastLsn: 5 },
      { firstLsn: 8, lastLsn: 8 },
    ],
    unreadable: [
      { firstLsn: 2, lastLsn: 3 },
      { firstLsn: 6, lastLsn: 7 },
      { firstLsn: 9, lastLsn: 12 },
    ],
    open: [{ taskId: task, state: 'WAITING' }],
  })
})

t.test('a failure without a retry left ends a task, counted across the damage', async (t) => {
  const book = new Book()
  const never = { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 0 } } as const
  const task = book.submit({ retryPolicy: never })
  book.fail(book.lease(task))
  const kept = book.nextLsn - 1
  const failedAt = book.fail(book.lease(task))
  const retried = book.submit({ retryPolicy: never })
  book.fail(book.lease(retried))
  const all = book.entries.slice(kept).map(({ lsn }) => lsn)
  const loss = await assessLoss(stateAfter(book, kept), left(book, all))
  t.same(loss.undone, [{ taskId: task, ended: 'FAILED', lsn: failedAt }])
  t.same(loss.vanishing, [{ taskId: retried }])
})

t.test(
  'the end of a task shows that it existed, even if its creation cannot be read',
  async (t) => {
    const book = new Book()
    book.submit()
    const lost = book.submit()
    const end = book.complete(book.lease(lost))
    const loss = await assessLoss(stateAfter(book, 1), left(book, [end]))
    t.same(loss.vanishing, [{ taskId: lost, ended: 'COMPLETED' }])
    t.same(loss.unreadable, [{ firstLsn: 2, lastLsn: 3 }])
  },
)

t.test(
  'any record of a task shows that it existed, even if its creation cannot be read',
  async (t) => {
    const book = new Book()
    const kept = book.submit()
    const lost = book.submit()
    const granted = book.lease(lost)
    const other = book.lease(kept)
    const loss = await assessLoss(stateAfter(book, 1), left(book, [granted, other]))
    t.same(loss.vanishing, [{ taskId: lost }])
  },
)
