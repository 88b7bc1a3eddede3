import { Book, type sourceOf } from '@tenure/testing-histories'

type Source = ReturnType<typeof sourceOf>

/**
 * Two tasks: the first is leased, extended, expires, and is completed by another worker after a
 * restart.
 */
export function twoTasks() {
  const book = new Book()
  const ran = book.submit({ queue: 'mail' })
  const waits = book.wait(5).submit()
  const first = book.wait(5).lease(ran)
  book.wait(10_000).extend(first)
  book.expire(first)
  book.restart()
  const second = book.wait(20).lease(ran, 'w-2')
  book.wait(100).complete(second)
  book.wait(1).cancel(first)
  return { book, ran, waits, first, second }
}

/** The log with a checkpoint that cannot be read. */
export function withBadCheckpoint(
  source: Source,
  bad: number,
  code = 'WAL_BAD_CHECKPOINT',
): Source {
  return {
    ...source,
    async *readCheckpoint(lsn: number) {
      if (lsn !== bad) yield* source.readCheckpoint(lsn)
      else throw Object.assign(new Error('it breaks off'), { code })
    },
  }
}
