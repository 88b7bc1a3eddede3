import { Random, SimulatedDisk } from '@tenure/testing'
import t from 'tap'
import { makeCheckpoint } from '../src/index.js'
import { appendOneByOne, directory, range, rejection, replayedLsns, World } from './world.js'

const state = [Buffer.from('the state')]

/** A log that is open, with records up to 30 in sealed segments and some behind them. */
async function withSealed() {
  const world = new World()
  const log = await world.open()
  for (const _ of [1, 2, 3]) {
    await appendOneByOne(log, 10)
    await log.roll()
  }
  await appendOneByOne(log, 5)
  const make = (lsn: number) =>
    makeCheckpoint(directory, lsn, state, { disk: world.disk, clock: world.clock })
  return { world, log, make }
}

t.test(
  'a checkpoint that is made beside the writer is noticed at the next truncation',
  async (t) => {
    const { world, log, make } = await withSealed()
    t.same(await make(10), [10])
    t.same(await make(30), [30, 10])
    t.equal(log.checkpointLsn, 0)
    const removed = await log.truncate({ verified: [30, 10] })
    t.equal(log.checkpointLsn, 30)
    t.equal(log.firstLsn, 11)
    t.ok(removed.bytes > 0)
    await log.close()
    const again = await world.open()
    t.equal(again.checkpointLsn, 30)
    t.same(await replayedLsns(t, again), range(31, 35))
    await again.close()
  },
)

t.test('a checkpoint is made only where a sealed segment ends', async (t) => {
  const { log, make } = await withSealed()
  for (const lsn of [0, 9, 31, 35, 36]) t.equal(await rejection(make(lsn)), 'WAL_BAD_CHECKPOINT')
  t.same(await make(20), [20])
  await log.close()
})

t.test(
  'one that cannot be read back is not among the good ones, and nothing is removed because of it',
  async (t) => {
    const { world, log, make } = await withSealed()
    await make(10)
    world.disk.flipBit(world.path('checkpoint/0000000000000010.ckpt'), 600 * 8)
    const good = await make(30)
    t.same(good, [30])
    t.same(await log.truncate({ verified: good }), { segments: 0, bytes: 0, checkpoints: 0 })
    t.equal(log.firstLsn, 1)
    await log.close()
  },
)

t.test('what has just been read back is not read once more', async (t) => {
  const { world, log, make } = await withSealed()
  await make(10)
  const verified = await make(20)
  const from = world.disk.callCount
  await log.truncate({ verified })
  const reads = world.disk.calls.slice(from).filter(({ kind }) => kind === 'read')
  t.same(reads, [])
  await log.close()
})

t.test('a disk without room for it keeps the log as it is', async (t) => {
  const { world, log, make } = await withSealed()
  world.disk.failWhen((call) => call.kind === 'write' && call.path.includes('.ckpt'), {
    kind: 'error',
    code: 'ENOSPC',
  })
  t.equal(await rejection(make(30)), 'WAL_NO_SPACE')
  t.notOk(world.files().some((name) => name.includes('ckpt')))
  await appendOneByOne(log, 1)
  await log.close()
})

t.test(
  'a crash at any call of making checkpoints and removing what they cover loses nothing',
  async (t) => {
    const work = async (world: World, log: Awaited<ReturnType<World['open']>>) => {
      const make = (lsn: number) =>
        makeCheckpoint(directory, lsn, state, { disk: world.disk, clock: world.clock })
      await make(10)
      await log.truncate({ verified: await make(30) })
    }
    const { world: origin, log } = await withSealed()
    await log.close()
    const rehearsal = origin.with(SimulatedDisk.from(origin.disk.snapshot()))
    const rehearsed = await rehearsal.open()
    const from = rehearsal.disk.callCount
    await work(rehearsal, rehearsed)
    const to = rehearsal.disk.callCount
    t.ok(to - from > 20, `${to - from} calls`)
    for (let index = from; index < to; index++) {
      const machine = origin.copy()
      const crashing = await machine.open()
      machine.disk.failCall(index, { kind: 'crash', when: index % 2 === 0 ? 'after' : 'before' })
      await rejection(work(machine, crashing))
      for (let variation = 0; variation < 4; variation++) {
        const random = new Random(index * 4 + variation)
        const survivor = machine.with(machine.disk.powerLoss({ random }))
        const what = `call ${index}, variation ${variation}`
        t.equal((await survivor.verify()).damage, undefined, what)
        const again = await survivor.open()
        t.same(
          await replayedLsns(t, again, again.checkpointLsn + 1),
          range(again.checkpointLsn + 1, 35),
          what,
        )
        t.ok([0, 10, 30].includes(again.checkpointLsn), what)
        await again.close()
      }
    }
  },
)

t.test('where there is no log there is nothing to make a checkpoint of', async (t) => {
  const world = new World()
  const made = makeCheckpoint(directory, 1, state, { disk: world.disk, clock: world.clock })
  t.equal(await rejection(made), 'WAL_NOT_A_LOG')
})
