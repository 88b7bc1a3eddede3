import { mkdtempSync, rmSync } from 'node:fs'
import { constants, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { openHistory } from '@tenure/history'
import { hashState } from '@tenure/state-machine'
import { Book, writeLog } from '@tenure/testing-histories'
import { openLog } from '@tenure/wal'
import t, { type Test } from 'tap'
import { CheckpointThread } from '../src/checkpoints/checkpoint-thread.js'
import { restsOf } from '../src/checkpoints/pace.js'

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

t.test('the thread makes the state of the sealed log, equal by hash', async (t) => {
  const { directory, book } = await sealedLog(t)
  const log = await openLog(directory, { sync: 'none' })
  t.teardown(() => log.close())
  const thread = new CheckpointThread(directory)
  const made = await thread.make(log.sealedLsn)
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
  t.equal((await thread.make(log.sealedLsn)).replayed, 0, 'and the next one goes on from it')
})

t.test('what cannot be made is an error, and the next one is made by a new thread', async (t) => {
  const { directory } = await sealedLog(t)
  const log = await openLog(directory, { sync: 'none' })
  t.teardown(() => log.close())
  const thread = new CheckpointThread(directory)
  await t.rejects(thread.make(7), { message: /LSN 7 does not end a sealed segment/ })
  t.match(await thread.make(log.sealedLsn), { good: [151] })
  await thread.stop()
})

t.test('a thread that is stopped gives up', async (t) => {
  const { directory } = await sealedLog(t)
  const thread = new CheckpointThread(directory)
  const making = thread.make(151)
  const rejected = t.rejects(making, { code: 'COORDINATOR_FAILED' })
  await thread.stop()
  await rejected
})

t.test('a thread that is stopped while it rests gives up, too', async (t) => {
  const { directory } = await sealedLog(t)
  const log = await openLog(directory, { sync: 'none' })
  t.teardown(() => log.close())
  const thread = new CheckpointThread(directory)
  const rejected = t.rejects(thread.make(log.sealedLsn), { code: 'COORDINATOR_FAILED' })
  while (restsOf(thread.pace) === 0) await turn()
  await thread.stop()
  await rejected
})

t.test('where the process has the lowest priority a checkpoint is made all the same', async (t) => {
  const { directory } = await sealedLog(t)
  const log = await openLog(directory, { sync: 'none' })
  t.teardown(() => log.close())
  // Only who has all rights may go back up.
  setPriority(constants.priority.PRIORITY_LOW)
  t.match(await new CheckpointThread(directory).make(log.sealedLsn), { lsn: 151 })
})
