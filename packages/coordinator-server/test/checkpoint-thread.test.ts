import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { openHistory } from '@tenure/history'
import { systemClock } from '@tenure/seams'
import { encodeRecord, hashState } from '@tenure/state-machine'
import { Book, writeLog } from '@tenure/testing-histories'
import { nodeDisk, openLog } from '@tenure/wal'
import t, { type Test } from 'tap'
import { waitedMs } from '../src/checkpoints/background.js'
import { checkpointLog } from '../src/checkpoints/checkpoint-of-log.js'
import { CheckpointThread, type ThreadMonitor } from '../src/checkpoints/checkpoint-thread.js'

/** A log whose records are all sealed. */
async function sealedLog(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const book = new Book()
  for (let n = 0; n < 50; n++) book.wait(1).complete(book.lease(book.submit()))
  book.submit()
  await writeLog(directory, book)
  return { directory, book }
}

/** Even if other tests keep all cores busy. */
async function makeSoon(thread: CheckpointThread, lsn: number) {
  const hurrying = setInterval(() => thread.hurry(), 100)
  try {
    return await thread.make(lsn)
  } finally {
    clearInterval(hurrying)
  }
}

/** A machine that gives a background thread the given share of CPU time. */
class Watched implements ThreadMonitor {
  readonly asked: number[] = []
  #nowMs = 0
  #waitedMs = 0
  readonly clock = { monotonicMs: () => this.#nowMs }
  readonly waitedMs = (threadId: number) => {
    this.asked.push(threadId)
    return this.#waitedMs
  }

  pass(ms: number, waitedMs: number): void {
    this.#nowMs += ms
    this.#waitedMs += waitedMs
  }
}

t.test('the thread writes the state of the sealed log, with an equal hash', async (t) => {
  const { directory, book } = await sealedLog(t)
  const log = await openLog(directory, { sync: 'none' })
  t.teardown(() => log.close())
  const thread = new CheckpointThread(directory)
  const made = await makeSoon(thread, log.sealedLsn)
  t.match(made, { lsn: 151, good: [151], tasks: 51, replayed: 151 })
  await log.truncate({ verified: made.good })
  t.equal(log.checkpointLsn, 151)
  const history = await openHistory(directory)
  let replayed = 0
  const state = await history.stateAt({
    onProgress: (applied) => {
      replayed = applied
    },
  })
  t.equal(hashState(state), hashState(book.state))
  t.equal(replayed, 0, 'from the checkpoint alone')
  const lsn = book.submit()
  await log.append(lsn, encodeRecord(book.entries.at(-1)!.record))
  await log.roll()
  t.match(
    await makeSoon(thread, lsn),
    { lsn, replayed: 1 },
    'the next one starts from that checkpoint',
  )
})

t.test('a repeated checkpoint replays the same records as before', async (t) => {
  const { directory } = await sealedLog(t)
  const log = await openLog(directory, { sync: 'none' })
  t.teardown(() => log.close())
  const means = { disk: nodeDisk, clock: systemClock }
  // The file of a thread that was abandoned just before it could answer.
  await checkpointLog(directory, 151, means)
  t.match(await checkpointLog(directory, 151, means), { lsn: 151, good: [151], replayed: 151 })
})

t.test(
  'a checkpoint that cannot be made is an error, and the next one uses a new thread',
  async (t) => {
    const { directory } = await sealedLog(t)
    const log = await openLog(directory, { sync: 'none' })
    t.teardown(() => log.close())
    const thread = new CheckpointThread(directory)
    await t.rejects(makeSoon(thread, 7), {
      message: /LSN 7 is not the last record of a sealed segment/,
    })
    t.match(await makeSoon(thread, log.sealedLsn), { good: [151] })
    await thread.stop()
  },
)

t.test('stopping the thread aborts its checkpoint', async (t) => {
  const { directory } = await sealedLog(t)
  const thread = new CheckpointThread(directory)
  const making = thread.make(151)
  const rejected = t.rejects(making, { code: 'COORDINATOR_FAILED' })
  await thread.stop()
  await rejected
})

/** The scheduling figures that Linux reports for a thread of this process. */
function schedulingClassOf(threadId: number): number {
  const stat = readFileSync(`/proc/self/task/${threadId}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[38])
}

const idleClass = 5

t.test('checkpoints are made while a core has nothing else to do', async (t) => {
  const { directory } = await sealedLog(t)
  const log = await openLog(directory, { sync: 'none' })
  t.teardown(() => log.close())
  const thread = new CheckpointThread(directory)
  t.equal(thread.backgroundThreadId, 0)
  const making = makeSoon(thread, log.sealedLsn)
  while (thread.backgroundThreadId === 0) await turn()
  while (schedulingClassOf(thread.backgroundThreadId) !== idleClass) await turn()
  t.match(await making, { lsn: 151 })
  await thread.stop()
})

t.test(
  'an urgent checkpoint is started again at normal priority when no core is idle',
  async (t) => {
    const { directory } = await sealedLog(t)
    const log = await openLog(directory, { sync: 'none' })
    t.teardown(() => log.close())
    const watched = new Watched()
    const thread = new CheckpointThread(directory, watched)
    const making = thread.make(log.sealedLsn)
    thread.hurry()
    t.same(watched.asked, [], 'not in the background yet')
    while (thread.backgroundThreadId === 0) await turn()
    const first = thread.backgroundThreadId
    thread.hurry()
    for (let second = 0; second < 5; second++) {
      watched.pass(1000, 900)
      thread.hurry()
      t.equal(thread.backgroundThreadId, first, 'a tenth of the time is enough')
    }
    watched.pass(499, 499)
    thread.hurry()
    t.equal(thread.backgroundThreadId, first, 'half a second without a core is not too long')
    watched.pass(1, 1)
    thread.hurry()
    t.equal(thread.backgroundThreadId, 0)
    thread.hurry()
    t.match(await making, { lsn: 151 })
    t.same(new Set(watched.asked), new Set([first]))
    t.equal(thread.backgroundThreadId, 0, 'it was not made in the background')
    const next = thread.make(log.sealedLsn)
    while (thread.backgroundThreadId === 0) await turn()
    t.pass('but the next one is')
    thread.hurry()
    watched.pass(500, 500)
    thread.hurry()
    t.match(await next, { lsn: 151 })
    await thread.stop()
  },
)

t.test('a thread that is stopped while it should start again aborts its checkpoint', async (t) => {
  const { directory } = await sealedLog(t)
  const watched = new Watched()
  const thread = new CheckpointThread(directory, watched)
  const rejected = t.rejects(thread.make(151), { code: 'COORDINATOR_FAILED' })
  while (thread.backgroundThreadId === 0) await turn()
  thread.hurry()
  watched.pass(1000, 1000)
  thread.hurry()
  await thread.stop()
  await rejected
})

t.test('the waiting time of a thread that does not exist is unknown', (t) => {
  t.equal(waitedMs(2 ** 30), undefined)
  t.end()
})

t.test('a process of the lowest priority still makes checkpoints', async (t) => {
  const { directory } = await sealedLog(t)
  const log = await openLog(directory, { sync: 'none' })
  t.teardown(() => log.close())
  // Raising the priority again needs privileges.
  setPriority(constants.priority.PRIORITY_LOW)
  t.match(await makeSoon(new CheckpointThread(directory), log.sealedLsn), { lsn: 151 })
})
