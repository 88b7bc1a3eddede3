import { apply, createState, encodeRecord } from '@tenure/state-machine'
import { Book } from '@tenure/testing-histories'
import t from 'tap'
import { assessLoss, type Fragment } from '../src/index.js'

function stateAfter(book: Book, lsn: number) {
  const state = createState()
  for (const entry of book.entries.slice(0, lsn)) apply(state, entry.lsn, entry.record)
  return state
}

/** What is left of the book's records: those of these LSNs, each a batch of its own. */
async function* left(book: Book, lsns: readonly number[]): AsyncGenerator<Fragment> {
  for (const lsn of lsns) {
    const records = [encodeRecord(book.entries[lsn - 1]!.record)]
    yield { firstLsn: lsn, count: 1, records }
  }
}

t.test(
  'what is given up is told: what vanishes, what runs again, and what may have ended',
  async (t) => {
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
  },
)

t.test('what cannot be read is told as such, with how far anything tells', async (t) => {
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

t.test('a failure ends a task when no retry is left, counted over the damage', async (t) => {
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

t.test('of a task whose creation cannot be read, the end tells that it was there', async (t) => {
  const book = new Book()
  book.submit()
  const lost = book.submit()
  const end = book.complete(book.lease(lost))
  const loss = await assessLoss(stateAfter(book, 1), left(book, [end]))
  t.same(loss.vanishing, [{ taskId: lost, ended: 'COMPLETED' }])
  t.same(loss.unreadable, [{ firstLsn: 2, lastLsn: 3 }])
})

t.test('of a task whose creation cannot be read, any record tells that it was there', async (t) => {
  const book = new Book()
  const kept = book.submit()
  const lost = book.submit()
  const granted = book.lease(lost)
  const other = book.lease(kept)
  const loss = await assessLoss(stateAfter(book, 1), left(book, [granted, other]))
  t.same(loss.vanishing, [{ taskId: lost }])
})
