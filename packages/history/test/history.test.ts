import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import {
  apply,
  checkInvariants,
  createState,
  encodeRecord,
  endedTasks,
  getCounters,
  getLease,
  getTask,
  hashState,
  type LogRecord,
  leasedTasks,
  nextEligible,
  nextExpiry,
  position,
  queueNames,
  type State,
  transitions,
  waitingTasks,
} from '@tenure/state-machine'
import { getCurrentLeaseId } from '@tenure/state-machine/internal'
import { Random } from '@tenure/testing'
import { Book, sourceOf, writeLog } from '@tenure/testing-histories'
import { type Disk, nodeDisk, openReadOnly } from '@tenure/wal'
import t, { type Test } from 'tap'
import { type Entry, History, openHistory, type Position, type Span } from '../src/index.js'
import { replayOnto } from '../src/internal.js'
import { omitUndefined } from '../src/omit-undefined.js'
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

t.test('read yields every record in order, from an LSN up to a moment', async (t) => {
  const { book, first } = twoTasks()
  const history = new History(sourceOf(book, { runLength: 2 }))
  t.same(await lsnsOf(history), [1, 2, 3, 4, 5, 6, 7, 8])
  t.same(await lsnsOf(history, { fromLsn: 4, until: { lsn: 6 } }), [4, 5, 6])
  const expiredAt = book.entries.find(({ record }) => record.type === 'LeaseExpired')!.record.at
  t.same(await lsnsOf(history, { until: { at: expiredAt - 1 } }), [1, 2, 3, 4])
  t.same(await lsnsOf(history, { until: { at: expiredAt } }), [1, 2, 3, 4, 5])
  t.equal(first, 3)
})

t.test('the state at any LSN equals a replay up to it, with or without checkpoints', async (t) => {
  const { book } = twoTasks()
  for (const checkpoints of [[], [3], [2, 5]]) {
    const history = new History(sourceOf(book, { checkpoints }))
    for (const { lsn } of book.entries) {
      const state = await history.stateAt({ until: { lsn } })
      t.equal(hashState(state), hashOf(book.entries.slice(0, lsn)), `at LSN ${lsn}`)
    }
    t.equal(hashState(await history.stateAt()), hashOf(book.entries))
  }
})

t.test('the state at a time contains exactly the events up to then', async (t) => {
  const { book, ran } = twoTasks()
  const history = new History(sourceOf(book, { checkpoints: [2, 6] }))
  for (const { record } of book.entries) {
    const until = book.entries.filter((entry) => entry.record.at <= record.at)
    const state = await history.stateAt({ until: { at: record.at } })
    t.equal(hashState(state), hashOf(until), record.type)
  }
  const before = await history.stateAt({ until: { at: book.entries[0]!.record.at - 1 } })
  t.equal(getTask(before, ran), undefined)
})

t.test('a checkpoint avoids a replay of the records before it', async (t) => {
  const { book } = twoTasks()
  const history = new History(sourceOf(book, { checkpoints: [2, 5] }))
  const applied: number[] = []
  await history.stateAt({ until: { lsn: 7 }, onProgress: (count) => applied.push(count) })
  t.equal(applied.at(-1), 2)
})

t.test('records after the requested LSN are not read', async (t) => {
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

t.test('for an LSN in a gap, no record after the gap is read', async (t) => {
  const { book } = twoTasks()
  const source = sourceOf(book)
  const broken = {
    ...source,
    gaps: [{ firstLsn: 9, lastLsn: 999 }],
    async *replay(from: { readonly fromLsn: number }) {
      yield* source.replay(from)
      throw new Error('this must not be read')
    },
  }
  const state = await new History(broken).stateAt({ until: { lsn: 500 } })
  t.equal(position(state).lastLsn, 500)
})

t.test('the state at the end of a segment does not need the next segment', async (t) => {
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

t.test('if a checkpoint cannot be read, an older one or the beginning is used', async (t) => {
  const { book } = twoTasks()
  for (const checkpoints of [[5], [2, 5]]) {
    const history = new History(withBadCheckpoint(sourceOf(book, { checkpoints }), 5))
    t.equal(hashState(await history.stateAt()), hashOf(book.entries))
  }
})

t.test('a checkpoint that was removed meanwhile is ignored', async (t) => {
  const { book } = twoTasks()
  const gone = (lsn: number) => withBadCheckpoint(source, lsn, 'ENOENT')
  const source = sourceOf(book, { checkpoints: [2, 5] })
  t.equal(hashState(await new History(gone(5)).stateAt()), hashOf(book.entries))
  const left = await new History(gone(2)).oldestState()
  t.equal(hashState(left!), hashOf(book.entries.slice(0, 5)), 'the oldest remaining one')
  const only = withBadCheckpoint(sourceOf(book, { checkpoints: [2], firstLsn: 2 }), 2, 'ENOENT')
  const overtaken = {
    code: 'WAL_FORGOTTEN',
    message: /before LSN 2 .* were removed while they were read/,
  }
  await t.rejects(new History(only).oldestState(), overtaken)
  await t.rejects(new History(only).stateAt(), overtaken, 'the caller must open the log again')
  const failing = new History(withBadCheckpoint(source, 2, 'EIO'))
  await t.rejects(failing.oldestState(), { code: 'EIO' }, 'a disk failure is reported')
})

t.test('a removed or future LSN is an error', async (t) => {
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

t.test('the end is the last record, or the last state if there are no records', async (t) => {
  const { book } = twoTasks()
  const last = { lsn: 8, at: book.now }
  for (const options of [{}, { checkpoints: [5, 8] }, { checkpoints: [5, 8], firstLsn: 9 }]) {
    t.same(await new History(sourceOf(book, options)).end(), last)
  }
  book.wait(1000).restart()
  t.same(await new History(sourceOf(book)).end(), last)
  t.same(await new History(sourceOf(new Book())).end(), { lsn: 0, at: 0 })
})

t.test('a declared gap is skipped, and an undeclared one is rejected', async (t) => {
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

t.test('a log with only a checkpoint after a loss continues after the gap', async (t) => {
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
})

t.test('a gap at the end is skipped, too', async (t) => {
  const { book } = twoTasks()
  const history = new History({ ...sourceOf(book), gaps: [{ firstLsn: 9, lastLsn: 500 }] })
  const state = await history.stateAt({ until: { lsn: 500 } })
  t.equal(position(state).lastLsn, 500)
  await t.rejects(history.stateAt({ until: { lsn: 501 } }), { code: 'HISTORY_NOT_YET' })
})

t.test('an undecodable record is reported with its LSN', async (t) => {
  const { book } = twoTasks()
  const source = sourceOf(book)
  const broken = {
    ...source,
    async *replay() {
      yield { firstLsn: 1, records: [Buffer.from('not a record')] }
    },
  }
  await t.rejects(new History(broken).stateAt(), {
    code: 'HISTORY_UNREADABLE_RECORD',
    message: /^the record at LSN 1: /,
  })
})

t.test('a history is read from a directory without changing it', async (t) => {
  const { book } = twoTasks()
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  await writeLog(directory, book)
  const history = await openHistory(directory)
  t.equal(hashState(await history.stateAt()), hashOf(book.entries))
  t.same(history.openings, book.openings)
  t.same(history.gaps, [])
})

// ---- checkpoint and tail against a full replay

const usualPoints = 50
const points = Number(process.env.TENURE_PROPERTY_RUNS ?? usualPoints)
// Long runs on request have no time limit.
if (points > usualPoints) t.setTimeout(0)
// A new seed for each run. It is printed, and setting it repeats the run.
const seed = Number(process.env.TENURE_SEED ?? Math.floor(Math.random() * 2 ** 31))

const records = 20_000
const queues = ['default', 'mail', 'ünïcode']
const rememberedRecords = 1500

t.test(
  `a checkpoint and the records after it give the state of a full replay, at ${points} random points`,
  async (t) => {
    t.comment(`seed ${seed}`)
    const random = new Random(seed)
    const book = writeLives(random)
    checkVariety(t, book)
    const replayed = createState()
    for (const [checkpoint, lsn] of choosePoints(random)) {
      await replayOnto(replayed, sourceOf(book), { until: { lsn } })
      const recovered = await recover(book, checkpoint, lsn)
      const where = `checkpoint at LSN ${checkpoint}, LSN ${lsn}, seed ${seed}`
      t.equal(hashState(recovered), hashState(replayed), where)
      // The hash depends on the checkpoint's own code, so compare a full description, too.
      t.equal(describe(recovered), describe(replayed), where)
      checkInvariants(recovered)
    }
  },
)

/** A history without rare records would test too little. */
function checkVariety(t: Test, book: Book): void {
  const types = book.entries.map(({ record }) => record.type)
  for (const type of Object.keys(transitions)) {
    const count = types.filter((other) => other === type).length
    t.ok(count > 20, `${count} x ${type}`)
  }
}

/** Checkpoints, each with a later point, ordered by point. */
function choosePoints(random: Random): [checkpoint: number, lsn: number][] {
  const chosen = Array.from({ length: points }, (): [number, number] => {
    const lsn = 1 + random.integer(records)
    return [1 + random.integer(lsn), lsn]
  })
  return chosen.sort(([, a], [, b]) => a - b)
}

/** The records that the checkpoint covers are removed, so that the replay must start from it. */
function recover(book: Book, checkpoint: number, lsn: number): Promise<State> {
  const source = sourceOf(book, { checkpoints: [checkpoint], firstLsn: checkpoint + 1 })
  return new History(source).stateAt({ until: { lsn } })
}

/** Everything that the state's functions return, including the order of tasks. */
function describe(state: State): string {
  const waiting = queueNames(state).map((queue) => [queue, waitingTasks(state, queue)] as const)
  const [leased, ended] = [leasedTasks(state), endedTasks(state)]
  const taskIds = [...waiting.flatMap(([, ids]) => ids), ...leased, ...ended]
  const tasks = taskIds.map((taskId) => getTask(state, taskId))
  return JSON.stringify([position(state), getCounters(state), waiting, leased, ended, tasks])
}

/** A lease that expired without its worker noticing. */
interface Lost {
  readonly taskId: number
  readonly leaseId: number
}

/** Busy days: every record type occurs often, and ended tasks are forgotten. */
function writeLives(random: Random): Book {
  const book = new Book({ leaseMs: 2000 })
  const lost: Lost[] = []
  const acts: (() => unknown)[] = [
    ...Array<() => unknown>(5).fill(() => submit(book, random)),
    ...Array<() => unknown>(8).fill(() => lease(book, random)),
    ...Array<() => unknown>(3).fill(() => onLease(book, random, extend)),
    ...Array<() => unknown>(4).fill(() => onLease(book, random, complete)),
    ...Array<() => unknown>(2).fill(() => onLease(book, random, fail)),
    () => reportLate(book, lost.splice(random.integer(lost.length + 1), 1)),
    () => random.chance(0.1) && onLease(book, random, kill),
    () => random.chance(0.1) && forget(book),
  ]
  while (book.entries.length < records) {
    book.wait(random.integer(100))
    expireDue(book, lost)
    random.pick(acts)()
  }
  return book
}

function forget(book: Book): void {
  const through = book.nextLsn - rememberedRecords
  if (through > 0) book.forget(through)
}

function submit(book: Book, random: Random): void {
  const delayMs = random.integer(500)
  const backoff = random.chance(0.5)
    ? ({ kind: 'fixed', delayMs } as const)
    : ({ kind: 'exponential', initialMs: 1 + delayMs, maxMs: 1000 } as const)
  const task = omitUndefined<NonNullable<Parameters<Book['submit']>[0]>>({
    payload: random.bytes(random.integer(200)),
    queue: random.pick(queues),
    executionWindowMs: random.pick([1500, 5000, 3_600_000]),
    retryPolicy: { maxRetries: random.integer(4), backoff },
    notBefore: random.chance(0.3) ? book.now + random.integer(1000) : undefined,
    requestId: random.chance(0.5) ? `request-${book.nextLsn}` : undefined,
  })
  book.submit(task)
}

function lease(book: Book, random: Random): void {
  const taskId = nextEligible(book.state, queues, book.now)
  if (taskId !== undefined) book.lease(taskId, `w-${random.integer(50)}`)
}

type OnLease = (book: Book, leaseId: number, random: Random) => unknown

function onLease(book: Book, random: Random, act: OnLease): void {
  const leased = leasedTasks(book.state)
  if (leased.length === 0) return
  act(book, getCurrentLeaseId(book.state, random.pick(leased))!, random)
}

function extend(book: Book, leaseId: number): void {
  const { leaseExpiry, windowEnd } = getLease(book.state, leaseId)!
  if (Math.min(book.now + book.leaseMs, windowEnd) > leaseExpiry) book.extend(leaseId)
}

function complete(book: Book, leaseId: number, random: Random): void {
  const report = omitUndefined<NonNullable<Parameters<Book['complete']>[1]>>({
    result: random.chance(0.5) ? random.bytes(random.integer(60)) : undefined,
    reportId: random.chance(0.5) ? `report-${leaseId}` : undefined,
  })
  book.complete(leaseId, report)
}

function fail(book: Book, leaseId: number, random: Random): void {
  book.fail(leaseId, `reason ${leaseId}`, random.chance(0.5) ? `report-${leaseId}` : undefined)
}

function kill(book: Book, leaseId: number): void {
  book.kill(getLease(book.state, leaseId)!.taskId, `stopped at ${book.now}`)
}

/** A report for a forgotten task, or with a lease that is too old, leaves no record. */
function reportLate(book: Book, [lost]: readonly Lost[]): void {
  if (lost === undefined) return
  const attempts = getTask(book.state, lost.taskId)?.attempts ?? []
  if (attempts.some(({ leaseId }) => leaseId === lost.leaseId)) book.cancel(lost.leaseId)
}

function expireDue(book: Book, lost: Lost[]): void {
  for (let next = nextExpiry(book.state); next !== undefined; next = nextExpiry(book.state)) {
    if (next.at > book.now) return
    const { leaseId } = next
    const { taskId } = getLease(book.state, leaseId)!
    book.expire(leaseId)
    lost.push({ taskId, leaseId })
  }
}
