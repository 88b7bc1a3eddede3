import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeRecord, type LogRecord } from '@tenure/state-machine'
import { SimulatedClock } from '@tenure/testing'
import { openLog } from '@tenure/wal'
import t, { type Test } from 'tap'
import { HistoryThread } from '../src/history/history-thread.js'

const never = new AbortController().signal

/** A thread that reads a real directory, with a log of so many tasks. */
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

const created = (taskId: number): LogRecord => ({
  type: 'TaskCreated',
  at: 1,
  taskId,
  payload: Buffer.from('work'),
  executionWindowMs: 1000,
  retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } },
})
const query = { fromLsn: 1, leaseIds: [], throughLsn: 100, bytesMax: 1000 }

t.test('a page is read beside the one who writes, what was durable before included', async (t) => {
  const { thread, log } = await create(t, 3)
  const page = await thread.read({ ...query, taskId: 2 }, never)
  t.equal(page.firstLsn, 1)
  t.match(page.records, [{ lsn: 2 }])
  t.strictSame(Buffer.from(page.records[0]!.bytes), Buffer.from(encodeRecord(created(2))))
  const bytes = encodeRecord(created(4))
  await log.append(4, bytes, log.claim(bytes.length, 'normal'))
  t.match((await thread.read({ ...query, taskId: 4 }, never)).records, [{ lsn: 4 }])
})

t.test(
  'the thread starts when it is needed, and ends when nobody has asked for long',
  async (t) => {
    const { thread, clock } = await create(t)
    t.equal(thread.isRunning, false)
    await thread.read({ ...query, taskId: 1 }, never)
    await clock.advance(999)
    await thread.read({ ...query, taskId: 1 }, never)
    await clock.advance(999)
    t.equal(thread.isRunning, true, 'it was asked meanwhile')
    await clock.advance(1)
    t.equal(thread.isRunning, false)
    t.match(await thread.read({ ...query, taskId: 1 }, never), { records: [{ lsn: 1 }] })
  },
)

t.test('a log that is not there is an error that says so; the thread lives on', async (t) => {
  const nowhere = new HistoryThread(join(tmpdir(), 'tenure-nowhere'), new SimulatedClock())
  for (let time = 0; time < 2; time++)
    await t.rejects(nowhere.read({ ...query, taskId: 1 }, never), /nowhere/)
  t.equal(nowhere.isRunning, true)
  await nowhere.close()
  t.equal(nowhere.isRunning, false)
})

t.test('who gives up gets no page, and the next one gets theirs', async (t) => {
  const { thread } = await create(t)
  const given = new AbortController()
  given.abort()
  await t.rejects(thread.read({ ...query, taskId: 1 }, given.signal), /aborted/)
  t.match(await thread.read({ ...query, taskId: 1 }, never), { records: [{ lsn: 1 }] })
})

t.test('closing ends what is being read, and two pages at once are a mistake', async (t) => {
  const { thread } = await create(t)
  const page = thread.read({ ...query, taskId: 1 }, never)
  await t.rejects(thread.read({ ...query, taskId: 1 }, never), /already/)
  const rejected = t.rejects(page, { code: 'COORDINATOR_FAILED', message: /has ended/ })
  await thread.close()
  await rejected
})

t.test('a thread that cannot start rejects the question, and nothing is thrown', async (t) => {
  const cannotBeSent = (() => {}) as unknown as string
  const thread = new HistoryThread(cannotBeSent, new SimulatedClock())
  const page = thread.read({ ...query, taskId: 1 }, never)
  await t.rejects(page, { name: 'DataCloneError' })
})
