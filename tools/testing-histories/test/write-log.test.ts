import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeRecord } from '@tenure/state-machine'
import { Random } from '@tenure/testing'
import { openReadOnly } from '@tenure/wal'
import t, { type Test } from 'tap'
import { Book, randomBook, sourceOf, writeLog } from '../src/index.js'

function someBook(): Book {
  const book = new Book()
  const task = book.submit({ queue: 'mail' })
  const first = book.wait(5).lease(task)
  book.wait(10_000).extend(first)
  book.expire(first)
  book.restart()
  const second = book.wait(20).lease(task, 'w-2')
  book.wait(100).complete(second)
  book.cancel(first)
  return book
}

function directoryOf(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function recordsOf(log: {
  replay(from: { fromLsn: number }): AsyncIterable<{ records: readonly Uint8Array[] }>
}) {
  const records = []
  for await (const run of log.replay({ fromLsn: 1 })) {
    for (const bytes of run.records) records.push(decodeRecord(Buffer.from(bytes)))
  }
  return records
}

t.test('a book read from a log equals the book in memory', async (t) => {
  const book = someBook()
  const directory = directoryOf(t)
  await writeLog(directory, book)
  const reader = await openReadOnly(directory)
  t.same(await recordsOf(reader), await recordsOf(sourceOf(book)))
  t.same(reader.openings, book.openings)
})

t.test('a truncated log has two checkpoints', async (t) => {
  const directory = directoryOf(t)
  await writeLog(directory, someBook(), { checkpoints: [2, 4], firstLsn: 3 })
  const reader = await openReadOnly(directory)
  t.equal(reader.firstLsn, 3)
  t.same(reader.checkpoints, [4, 2])
})

t.test('a book rejects a record that breaks a rule', async (t) => {
  const book = new Book()
  const task = book.submit()
  book.lease(task)
  t.throws(() => book.lease(task), { code: 'STATE_INVARIANT_VIOLATION' })
})

t.test('a random book has every kind of record and of expiry', (t) => {
  const records = [1, 2, 3].flatMap((seed) => {
    return randomBook(new Random(seed), 2000).entries.map(({ record }) => record)
  })
  t.equal(new Set(records.map(({ type }) => type)).size, 9)
  const atStart = records.flatMap((record) =>
    record.type === 'LeaseExpired' ? [record.atStart] : [],
  )
  t.same([...new Set(atStart)].sort(), [false, true])
  t.end()
})

t.test('the same seed gives the same book', (t) => {
  const [one, two] = [1, 1].map((seed) => randomBook(new Random(seed)).entries)
  t.same(one, two)
  t.end()
})
