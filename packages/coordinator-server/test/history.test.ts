import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  apply,
  createState,
  decodeRecord,
  encodeRecord,
  getLease,
  type LogRecord,
  listTasks,
} from '@tenure/state-machine'
import { hasTask } from '@tenure/state-machine/internal'
import { SimulatedClock } from '@tenure/testing'
import { openLog, openReadOnly, WalError } from '@tenure/wal'
import t, { type Test } from 'tap'
import {
  type HistoryPage,
  type HistoryQuery,
  type PageOptions,
  type ReadableLog,
  readPage,
} from '../src/history/history-page.js'

import { HistoryThread } from '../src/history/history-thread.js'
import { liveThrough } from './random-life.js'
import { directory } from './world.js'

const throughAll = Number.MAX_SAFE_INTEGER
const everything = { leaseIds: [], throughLsn: throughAll, bytesMax: 1_000_000 }

/** Reads all pages of a history. */
async function readPages(
  log: ReadableLog,
  query: Partial<HistoryQuery> & { readonly taskId: number },
  options: PageOptions = {},
): Promise<HistoryPage[]> {
  const pages: HistoryPage[] = []
  let place: HistoryPage['next'] = { fromLsn: 1 }
  while (place !== undefined) {
    const asked: HistoryQuery = { ...everything, ...query, ...place }
    const page: HistoryPage = await readPage(async () => log, asked, options)
    pages.push(page)
    place = page.next
  }
  return pages
}

const recordsOf = (pages: readonly HistoryPage[]) => pages.flatMap(({ records }) => records)
const lsnsOf = (pages: readonly HistoryPage[]) => recordsOf(pages).map(({ lsn }) => lsn)

/** A log of these records, starting at an LSN, in groups of two. */
function logOf(
  records: readonly LogRecord[],
  firstLsn = 1,
  openings: ReadableLog['openings'] = [],
) {
  const log: ReadableLog = {
    firstLsn,
    openings,
    async *replay({ fromLsn = firstLsn } = {}) {
      for (let lsn = fromLsn; lsn < firstLsn + records.length; lsn += 2) {
        const run = records.slice(lsn - firstLsn, lsn - firstLsn + 2)
        yield { firstLsn: lsn, records: run.map(encodeRecord) }
      }
    },
  }
  return log
}

// ---- a life

/** The records that concern each task, found by comparing the state before and after each record. */
async function naively(log: ReadableLog): Promise<Map<number, number[]>> {
  const state = createState()
  const found = new Map<number, number[]>()
  const add = (taskId: number, lsn: number) =>
    found.set(taskId, [...(found.get(taskId) ?? []), lsn])
  for await (const { firstLsn, records } of log.replay({ fromLsn: 1 })) {
    for (const [index, bytes] of records.entries()) {
      const lsn = firstLsn + index
      const record = decodeRecord(bytes)
      const before = Array.from(listTasks(state), ({ taskId }) => taskId)
      if (record.type === 'LeaseExtended') add(getLease(state, record.leaseId)!.taskId, lsn)
      if ('taskId' in record) add(record.taskId, lsn)
      apply(state, lsn, record)
      for (const taskId of before) if (!hasTask(state, taskId)) add(taskId, lsn)
    }
  }
  return found
}

t.test('a history has every record that concerns the task, whatever the page limits', async (t) => {
  const seen = new Set<string>()
  for (const seed of [1, 2, 3]) {
    const world = await liveThrough(seed, 500)
    const log = await openReadOnly(directory, { disk: world.disk, clock: world.clock })
    const expected = await naively(log)
    const { durableLsn } = world.log
    for (let taskId = 1; taskId <= durableLsn + 1; taskId++) {
      const lsns = expected.get(taskId) ?? []
      for (const [scannedMax, bytesMax] of [
        [throughAll, 1_000_000],
        [7, 1_000_000],
        [50, 100],
      ]) {
        const query = { taskId, throughLsn: durableLsn, bytesMax: bytesMax! }
        const pages = await readPages(log, query, { scannedMax: scannedMax! })
        if (lsnsOf(pages).join() !== lsns.join())
          t.strictSame(lsnsOf(pages), lsns, `seed ${seed}, task ${taskId}, ${scannedMax}`)
        for (const { bytes } of recordsOf(pages)) seen.add(decodeRecord(bytes).type)
        if (lsns.length === 0)
          t.equal(pages.length, 1, 'reading an id of no task stops at its first record')
      }
    }
    t.ok(expected.size > 30, `${expected.size} tasks, ${durableLsn} records`)
    await world.stop()
  }
  t.equal(seen.size, 9, 'records of every type')
})

t.test('openings are listed for the part of the log that a page has scanned', async (t) => {
  const world = await liveThrough(4, 300)
  const log = await openReadOnly(directory, { disk: world.disk, clock: world.clock })
  const { openings } = log
  t.ok(openings.length > 2)
  const taskId = await world.submit()
  await world.stop()
  await world.start()
  const later = await openReadOnly(directory, { disk: world.disk, clock: world.clock })
  const whole = await readPages(later, { taskId })
  t.strictSame(whole[0]?.openings, later.openings.slice(-1), 'including one without later records')
  const first = openings.find(({ firstLsn }) => firstLsn > 1)!
  const alive = Array.from(listTasks(world.state), (task) => task.taskId)[0]!
  const pages = await readPages(later, { taskId: alive }, { scannedMax: 3 })
  t.strictSame(
    pages.flatMap((page) => page.openings),
    later.openings.filter(({ firstLsn }) => firstLsn >= alive),
    'each on one page',
  )
  t.ok(first.epoch > 1)
  await world.stop()
})

// ---- a record that names no task

const created = (taskId: number, maxRetries = 0): LogRecord => ({
  type: 'TaskCreated',
  at: taskId,
  taskId,
  payload: Buffer.from('work'),
  executionWindowMs: 1000,
  retryPolicy: { maxRetries, backoff: { kind: 'fixed', delayMs: 0 } },
})
const granted = (taskId: number, leaseId: number): LogRecord => ({
  type: 'LeaseGranted',
  at: 1,
  taskId,
  leaseId,
  workerId: 'w',
  attempt: 1,
  leaseExpiry: 9,
})
const extended = (leaseId: number): LogRecord => ({
  type: 'LeaseExtended',
  at: 1,
  leaseId,
  newLeaseExpiry: 10,
})
const failed = (taskId: number, leaseId: number): LogRecord => ({
  type: 'TaskFailed',
  at: 1,
  taskId,
  leaseId,
  failureReason: 'no',
})
const forgotten = (through: number): LogRecord => ({ type: 'TasksForgotten', at: 1, through })

t.test('TasksForgotten does not drop a task that waits for another attempt', async (t) => {
  const life = [created(1, 1), granted(1, 2), failed(1, 2), forgotten(3)]
  const log = logOf([
    ...life,
    granted(1, 5),
    failed(1, 5),
    forgotten(5),
    forgotten(6),
    forgotten(8),
  ])
  for (const scannedMax of [100, 1]) {
    t.strictSame(lsnsOf(await readPages(log, { taskId: 1 }, { scannedMax })), [1, 2, 3, 5, 6, 8])
  }
})

t.test("without the task's first records, extensions are found by its known leases", async (t) => {
  const log = logOf([extended(4), extended(5), granted(1, 22), extended(22)], 20)
  t.strictSame(lsnsOf(await readPages(log, { taskId: 1 })), [22, 23])
  t.strictSame(lsnsOf(await readPages(log, { taskId: 1, leaseIds: [4] })), [20, 22, 23])
  const page = await readPage(async () => log, {
    ...everything,
    taskId: 1,
    fromLsn: 20,
    leaseId: 5,
  })
  t.strictSame([page.firstLsn, lsnsOf([page])], [20, [21, 22, 23]])
})

// ---- what bounds a page

t.test('a record larger than a page gets a page of its own', async (t) => {
  const large = { ...created(1), payload: Buffer.alloc(5000) } as LogRecord
  const log = logOf([large, granted(1, 2), extended(2), created(4)])
  const pages = await readPages(log, { taskId: 1, bytesMax: 100 })
  t.strictSame(
    pages.map((page) => lsnsOf([page])),
    [[1], [2, 3]],
  )
})

t.test('records written after the request are not returned', async (t) => {
  const log = logOf([created(1), granted(1, 2), extended(2)])
  const pages = await readPages(log, { taskId: 1, throughLsn: 2 })
  t.strictSame(lsnsOf(pages), [1, 2])
  t.equal(pages.length, 1)
  t.strictSame(lsnsOf(await readPages(log, { taskId: 3, throughLsn: 2 })), [])
})

t.test("returned records share no memory with the log's buffer", async (t) => {
  const bytes = Buffer.from(encodeRecord(created(1)))
  const log = {
    ...logOf([]),
    replay: async function* () {
      yield { firstLsn: 1, records: [bytes] }
    },
  }
  const [page] = await readPages(log as ReadableLog, { taskId: 1 })
  bytes.fill(0)
  t.strictSame(decodeRecord(page!.records[0]!.bytes).type, 'TaskCreated')
  t.equal(Object.getPrototypeOf(page!.records[0]!.bytes), Uint8Array.prototype)
})

// ---- what goes wrong

t.test(
  'a page whose first segment is removed meanwhile is read again, up to three times',
  async (t) => {
    const log = logOf([extended(4), granted(1, 11)], 10)
    const gone: ReadableLog = {
      firstLsn: 1,
      openings: [],
      // biome-ignore lint/correctness/useYield: it fails before it has any.
      async *replay() {
        throw new WalError('WAL_FORGOTTEN', 'gone')
      },
    }
    const logs = [gone, gone, log]
    const page = await readPage(async () => logs.shift()!, { ...everything, taskId: 1, fromLsn: 1 })
    t.strictSame([page.firstLsn, lsnsOf([page])], [10, [11]])
    const query = { ...everything, taskId: 1, fromLsn: 1 }
    await t.rejects(
      readPage(async () => gone, query),
      { code: 'WAL_FORGOTTEN' },
    )
  },
)

t.test('a read failure is an error, and an aborted read stops', async (t) => {
  const query = { ...everything, taskId: 1, fromLsn: 1 }
  await t.rejects(
    readPage(() => Promise.reject(new Error('no disk')), query),
    /no disk/,
  )
  const broken = logOf([created(1)])
  broken.replay = async function* () {
    yield { firstLsn: 1, records: [Buffer.of(0xc1)] }
  }
  await t.rejects(
    readPage(async () => broken, query),
    { code: 'STATE_MALFORMED_RECORD' },
  )
  const given = new AbortController()
  let runs = 0
  const endless = logOf([])
  endless.replay = async function* () {
    yield { firstLsn: 1, records: [encodeRecord(created(1))] }
    for (let lsn = 2; ; lsn++) {
      if (++runs === 3) given.abort(new Error('given up'))
      yield { firstLsn: lsn, records: [encodeRecord(extended(1))] }
    }
  }
  await t.rejects(
    readPage(async () => endless, query, { signal: given.signal }),
    /given up/,
  )
  t.equal(runs, 3)
})

// ---- the thread that reads pages

const never = new AbortController().signal

/** A thread that reads a real directory, whose log has this many tasks. */
async function create(t: Test, tasks = 1) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tenure-'))
  const log = await openLog(dataDir)
  for (let taskId = 1; taskId <= tasks; taskId++) {
    const bytes = encodeRecord(created(taskId))
    await log.append(taskId, bytes, log.claim(bytes.length, 'normal'))
  }
  const clock = new SimulatedClock()
  const thread = new HistoryThread(dataDir, clock, 1000)
  t.teardown(async () => {
    await thread.close()
    await log.close()
    await rm(dataDir, { recursive: true })
  })
  return { thread, clock, log, dataDir }
}

const fromStart = { fromLsn: 1, leaseIds: [], throughLsn: 100, bytesMax: 1000 }

t.test(
  'a page is read while the log is written, and includes everything durable before',
  async (t) => {
    const { thread, log } = await create(t, 3)
    const page = await thread.read({ ...fromStart, taskId: 2 }, never)
    t.equal(page.firstLsn, 1)
    t.match(page.records, [{ lsn: 2 }])
    t.strictSame(Buffer.from(page.records[0]!.bytes), Buffer.from(encodeRecord(created(2))))
    const bytes = encodeRecord(created(4))
    await log.append(4, bytes, log.claim(bytes.length, 'normal'))
    t.match((await thread.read({ ...fromStart, taskId: 4 }, never)).records, [{ lsn: 4 }])
  },
)

t.test('the thread starts on demand and ends when it is idle', async (t) => {
  const { thread, clock } = await create(t)
  t.equal(thread.isRunning, false)
  await thread.read({ ...fromStart, taskId: 1 }, never)
  await clock.advance(999)
  await thread.read({ ...fromStart, taskId: 1 }, never)
  await clock.advance(999)
  t.equal(thread.isRunning, true, 'it was used meanwhile')
  await clock.advance(1)
  t.equal(thread.isRunning, false)
  t.match(await thread.read({ ...fromStart, taskId: 1 }, never), { records: [{ lsn: 1 }] })
})

t.test('a missing log is an error with its name, and the thread survives it', async (t) => {
  const nowhere = new HistoryThread(join(tmpdir(), 'tenure-nowhere'), new SimulatedClock())
  for (let time = 0; time < 2; time++)
    await t.rejects(nowhere.read({ ...fromStart, taskId: 1 }, never), /nowhere/)
  t.equal(nowhere.isRunning, true)
  await nowhere.close()
  t.equal(nowhere.isRunning, false)
})

t.test('an aborted read returns no page, and the next read works', async (t) => {
  const { thread } = await create(t)
  const given = new AbortController()
  given.abort()
  await t.rejects(thread.read({ ...fromStart, taskId: 1 }, given.signal), /aborted/)
  t.match(await thread.read({ ...fromStart, taskId: 1 }, never), { records: [{ lsn: 1 }] })
})

t.test('closing ends the running read, and a second concurrent read throws', async (t) => {
  const { thread } = await create(t)
  const page = thread.read({ ...fromStart, taskId: 1 }, never)
  await t.rejects(thread.read({ ...fromStart, taskId: 1 }, never), /already/)
  const rejected = t.rejects(page, {
    code: 'COORDINATOR_FAILED',
    message: /coordinator stopped before the history was read/,
  })
  await thread.close()
  await rejected
})

t.test('a thread that cannot start rejects the request, and nothing is thrown', async (t) => {
  const cannotBeSent = (() => {}) as unknown as string
  const thread = new HistoryThread(cannotBeSent, new SimulatedClock())
  const page = thread.read({ ...fromStart, taskId: 1 }, never)
  await t.rejects(page, { name: 'DataCloneError' })
})
