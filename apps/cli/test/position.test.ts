import { History } from '@tenure/history'
import { Book, sourceOf } from '@tenure/testing-histories'
import t from 'tap'
import { logPosition, resolvePosition } from '../src/log/position.js'

const { parse, format } = logPosition()

t.test('a position is an LSN, a time with its zone, or how long before the end', (t) => {
  const noon = { at: Date.UTC(2026, 0, 2, 12) }
  const meant = {
    17: { lsn: 17 },
    '2026-01-02T12:00:00Z': noon,
    '2026-01-02 12:00z': noon,
    '2026-01-02T13:00:00.000+01:00': noon,
    '2024-02-29T00:00:00.5Z': { at: Date.UTC(2024, 1, 29) + 500 },
    '-5m': { beforeEndMs: 300_000 },
    '-1.5s': { beforeEndMs: 1500 },
  }
  for (const [text, position] of Object.entries(meant)) {
    t.same(parse(text), position, text)
    t.same(parse(format(position)), position, text)
  }
  t.end()
})

t.test('what may mean two things, or nothing, is no position', (t) => {
  const wrong = ['', '0', '-1', '1.5', '5m', '-5', 'now', '2026-01-02', '2026-01-02T12:00:00']
  wrong.push('2026-02-31T12:00:00Z', '2026-01-02T25:00:00Z', '1e3', '9007199254740993', ' 17')
  for (const text of wrong) t.equal(parse(text), undefined, text)
  t.end()
})

t.test('how long before the end is counted from the last record', async (t) => {
  const book = new Book()
  const start = book.now
  book.submit()
  book.wait(60_000).submit()
  const history = new History(sourceOf(book))
  t.same(await resolvePosition(history, { beforeEndMs: 60_000 }), { at: start })
  t.same(await resolvePosition(history, { lsn: 1 }), { lsn: 1 })
  t.equal(await resolvePosition(history, undefined), undefined)
})
