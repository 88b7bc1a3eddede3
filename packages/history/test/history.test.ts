import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import {
  apply,
  createState,
  encodeRecord,
  getTask,
  hashState,
  type LogRecord,
  position,
} from '@tenure/state-machine'
import { Book, sourceOf, writeLog } from '@tenure/testing-histories'
import { type Disk, nodeDisk, openReadOnly } from '@tenure/wal'
import t from 'tap'
import { type Entry, History, openHistory, type Position, type Span } from '../src/index.js'
import { twoTasks, withBadCheckpoint } from './world.js'

async function lsnsOf(history: History, span?: Span): Promise<number[]> {
  const lsns: number[] = []
  for await (const entries of history.read(span)) lsns.push(...entries.map(({ lsn }) => lsn))
  return lsns
}

function hashOf(entries: readonly Entry[]): string {
  const state = createState()
  for (const { lsn, record } of entries) apply(state, lsn, record)
  return hashState(state)
}

t.test('a history is every record in order, from an LSN on and up to a moment', async (t) => {
  const { book, first } = twoTasks()
  const history = new History(sourceOf(book, { runLength: 2 }))
  t.same(await lsnsOf(history), [1, 2, 3, 4, 5, 6, 7, 8])
  t.same(await lsnsOf(history, { fromLsn: 4, until: { lsn: 6 } }), [4, 5, 6])
  const expiredAt = book.entries.find(({ record }) => record.type === 'LeaseExpired')!.record.at
  t.same(await lsnsOf(history, { until: { at: expiredAt - 1 } }), [1, 2, 3, 4])
  t.same(await lsnsOf(history, { until: { at: expiredAt } }), [1, 2, 3, 4, 5])
  t.equal(first, 3)
})

t.test(
  'the state at any LSN is what the records up to it make, with or without checkpoints',
  async (t) => {
    const { book } = twoTasks()
    for (const checkpoints of [[], [3], [2, 5]]) {
      const history = new History(sourceOf(book, { checkpoints }))
      for (const { lsn } of book.entries) {
        const state = await history.stateAt({ until: { lsn } })
        t.equal(hashState(state), hashOf(book.entries.slice(0, lsn)), `at LSN ${lsn}`)
      }
      t.equal(hashState(await history.stateAt()), hashOf(book.entries))
    }
  },
)

t.test(
  'the state at a time has all that had happened by then, and nothing that came later',
  async (t) => {
    const { book, ran } = twoTasks()
    const history = new History(sourceOf(book, { checkpoints: [2, 6] }))
    for (const { record } of book.entries) {
      const until = book.entries.filter((entry) => entry.record.at <= record.at)
      const state = await history.stateAt({ until: { at: record.at } })
      t.equal(hashState(state), hashOf(until), record.type)
    }
    const before = await history.stateAt({ until: { at: book.entries[0]!.record.at - 1 } })
    t.equal(getTask(before, ran), undefined)
  },
)

t.test('a checkpoint spares the replay of what lies before it', async (t) => {
  const { book } = twoTasks()
  const history = new History(sourceOf(book, { checkpoints: [2, 5] }))
  const applied: number[] = []
  await history.stateAt({ until: { lsn: 7 }, onProgress: (count) => applied.push(count) })
  t.equal(applied.at(-1), 2)
})

t.test('what lies behind the LSN that is asked for is not read', async (t) => {
  const { book } = twoTasks()
  for (const [checkpoints, runs] of [
    [[], 2],
    [[2], 1],
    [[4], 0],
  ] as const) {
    const source = sourceOf(book, { checkpoints, runLength: 2 })
    let read = 0
    const counting = {
      ...source,
      async *replay(from: { readonly fromLsn: number }) {
        for await (const run of source.replay(from)) {
          read++
          yield run
        }
      },
    }
    const state = await new History(counting).stateAt({ until: { lsn: 4 } })
    t.equal(hashState(state), hashOf(book.entries.slice(0, 4)))
    t.equal(read, runs, `from checkpoint ${checkpoints}`)
  }
})

t.test('behind the last record before a gap nothing is read for an LSN in the gap', async (t) => {
  const { book } = twoTasks()
  const source = sourceOf(book)
  const broken = {
    ...source,
    gaps: [{ firstLsn: 9, lastLsn: 999 }],
    async *replay(from: { readonly fromLsn: number }) {
      yield* source.replay(from)
      throw new Error('this was read')
    },
  }
  const state = await new History(broken).stateAt({ until: { lsn: 500 } })
  t.equal(position(state).lastLsn, 500)
})

t.test('the state where a segment ends is made without a look at the next one', async (t) => {
  const { book } = twoTasks()
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  await writeLog(directory, book, { checkpoints: [4] })
  rmSync(join(directory, 'checkpoint'), { recursive: true })
  const read = new Set<string>()
  const disk: Disk = {
    ...nodeDisk,
    open: (path, mode) => {
      read.add(basename(path))
      return nodeDisk.open(path, mode)
    },
  }
  const history = new History(await openReadOnly(directory, { disk }))
  read.clear()
  const state = await history.stateAt({ until: { lsn: 4 } })
  t.equal(hashState(state), hashOf(book.entries.slice(0, 4)))
  t.same([...read], ['0000000000000001-00000001.wal'])
})

t.test(
  'where a checkpoint cannot be read, an older one or the start takes its place',
  async (t) => {
    const { book } = twoTasks()
    for (const checkpoints of [[5], [2, 5]]) {
      const history = new History(withBadCheckpoint(sourceOf(book, { checkpoints }), 5))
      t.equal(hashState(await history.stateAt()), hashOf(book.entries))
    }
  },
)

t.test('a checkpoint that was removed meanwhile is one that is not there', async (t) => {
  const { book } = twoTasks()
  const gone = (lsn: number) => withBadCheckpoint(source, lsn, 'ENOENT')
  const source = sourceOf(book, { checkpoints: [2, 5] })
  t.equal(hashState(await new History(gone(5)).stateAt()), hashOf(book.entries))
  const left = await new History(gone(2)).oldestState()
  t.equal(hashState(left!), hashOf(book.entries.slice(0, 5)), 'the oldest that is left')
  const only = withBadCheckpoint(sourceOf(book, { checkpoints: [2], firstLsn: 2 }), 2, 'ENOENT')
  const overtaken = { code: 'WAL_FORGOTTEN', message: /before LSN 2 .* have been removed/ }
  await t.rejects(new History(only).oldestState(), overtaken)
  await t.rejects(new History(only).stateAt(), overtaken, 'whoever asks has to look again')
  const failing = new History(withBadCheckpoint(source, 2, 'EIO'))
  await t.rejects(failing.oldestState(), { code: 'EIO' }, 'a disk that fails is told')
})

t.test('what was removed cannot be told, and an LSN that is not yet there neither', async (t) => {
  const { book } = twoTasks()
  const history = new History(sourceOf(book, { checkpoints: [4, 6], firstLsn: 5 }))
  t.equal(hashState(await history.stateAt()), hashOf(book.entries))
  const gone: Position[] = [{ lsn: 3 }, { at: book.entries[0]!.record.at }]
  for (const until of gone) {
    await t.rejects(history.stateAt({ until }), {
      code: 'HISTORY_REMOVED',
      message: /before LSN 5 were removed/,
    })
  }
  await t.rejects(history.stateAt({ until: { lsn: 9 } }), {
    code: 'HISTORY_NOT_YET',
    message: 'there is no LSN 9: the log ends at LSN 8',
  })
})

t.test(
  'the end is where the last record stands, or the last state where none is left',
  async (t) => {
    const { book } = twoTasks()
    const last = { lsn: 8, at: book.now }
    for (const options of [{}, { checkpoints: [5, 8] }, { checkpoints: [5, 8], firstLsn: 9 }]) {
      t.same(await new History(sourceOf(book, options)).end(), last)
    }
    book.wait(1000).restart()
    t.same(await new History(sourceOf(book)).end(), last)
    t.same(await new History(sourceOf(new Book())).end(), { lsn: 0, at: 0 })
  },
)

t.test('a declared gap is passed, and one that is not declared is refused', async (t) => {
  const { book } = twoTasks()
  const source = sourceOf(book)
  const [first] = book.entries
  const again = { ...first!.record, at: book.now, taskId: 1000 } as LogRecord
  const far = {
    ...source,
    async *replay() {
      yield { firstLsn: 1, records: [encodeRecord(first!.record)] }
      yield { firstLsn: 1000, records: [encodeRecord(again)] }
    },
  }
  await t.rejects(new History(far).stateAt(), { code: 'HISTORY_UNDECLARED_GAP' })
  const declared = { ...far, gaps: [{ firstLsn: 2, lastLsn: 999 }] }
  t.equal(position(await new History(declared).stateAt()).lastLsn, 1000)
})

t.test(
  'where a loss has left nothing behind a checkpoint, the log goes on behind the gap',
  async (t) => {
    const { book } = twoTasks()
    const gap = { firstLsn: 4, lastLsn: 999 }
    const source = { ...sourceOf(book, { checkpoints: [3] }), gaps: [gap], firstLsn: 1000 }
    const asked: number[] = []
    const lost = {
      ...source,
      // biome-ignore lint/correctness/useYield: nothing is left.
      async *replay({ fromLsn }: { readonly fromLsn: number }) {
        asked.push(fromLsn)
      },
    }
    t.equal(hashState(await new History(lost).stateAt()), hashOf(book.entries.slice(0, 3)))
    const all = { ...lost, checkpoints: [], gaps: [{ firstLsn: 1, lastLsn: 999 }] }
    t.equal(hashState(await new History(all).stateAt()), hashOf([]))
    t.same(asked, [1000, 1000])
  },
)

t.test('a gap at the end is a part of the log, and the state goes on behind it', async (t) => {
  const { book } = twoTasks()
  const history = new History({ ...sourceOf(book), gaps: [{ firstLsn: 9, lastLsn: 500 }] })
  const state = await history.stateAt({ until: { lsn: 500 } })
  t.equal(position(state).lastLsn, 500)
  await t.rejects(history.stateAt({ until: { lsn: 501 } }), { code: 'HISTORY_NOT_YET' })
})

t.test('a record that is none is named by its LSN', async (t) => {
  const { book } = twoTasks()
  const source = sourceOf(book)
  const broken = {
    ...source,
    async *replay() {
      yield { firstLsn: 1, records: [Buffer.from('no record')] }
    },
  }
  await t.rejects(new History(broken).stateAt(), {
    code: 'HISTORY_UNREADABLE_RECORD',
    message: /^the record at LSN 1: /,
  })
})

t.test('a history is read from a directory, and nothing in it is changed', async (t) => {
  const { book } = twoTasks()
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  await writeLog(directory, book)
  const history = await openHistory(directory)
  t.equal(hashState(await history.stateAt()), hashOf(book.entries))
  t.same(history.openings, book.openings)
  t.same(history.gaps, [])
})
