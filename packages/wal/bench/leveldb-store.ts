import { ClassicLevel } from 'classic-level'
import { type Count, keyOf, lsnOf, type Store } from './store.js'

type Database = ClassicLevel<Uint8Array, Uint8Array>

/**
 * LevelDB through the `classic-level` package with its default options. With `sync` a put resolves
 * after fdatasync of LevelDB's log. Concurrent puts share a sync, but at most four of them, the
 * number of threads in the pool.
 */
export class LevelDbStore implements Store {
  readonly #database: Database
  #nextLsn: number

  constructor(database: Database, nextLsn: number) {
    this.#database = database
    this.#nextLsn = nextLsn
  }

  append(record: Uint8Array): Promise<unknown> {
    return this.#database.put(keyOf(this.#nextLsn++), record, { sync: true })
  }

  appendAll(records: readonly Uint8Array[]): Promise<unknown> {
    const puts = records.map((value) => ({
      type: 'put' as const,
      key: keyOf(this.#nextLsn++),
      value,
    }))
    return this.#database.batch(puts, { sync: true })
  }

  async replay(): Promise<Count> {
    let records = 0
    let bytes = 0
    const values = this.#database.values()
    try {
      for (;;) {
        const some = await values.nextv(1000)
        if (some.length === 0) return { records, bytes }
        records += some.length
        for (const value of some) bytes += value.length
      }
    } finally {
      await values.close()
    }
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

export async function openLevelDb(directory: string): Promise<LevelDbStore> {
  const database: Database = new ClassicLevel(directory, {
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  await database.open()
  const [last] = await database.keys({ reverse: true, limit: 1 }).all()
  return new LevelDbStore(database, last === undefined ? 1 : lsnOf(last) + 1)
}
