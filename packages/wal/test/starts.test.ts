import { SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import { makeCheckpoint, openLog } from '../src/index.js'
import { backUp, destination, restore } from './copies.js'
import { appendOneByOne, directory, range, rejection, replayedLsns, World } from './world.js'

/** Opens the log, says how many openings before had been marked as started, and lets power fail. */
async function startsAfterPowerLoss(t: Test, world: World, expected: number): Promise<World> {
  const survivor = world.with(world.disk.powerLoss({ keep: () => false }))
  const log = await survivor.open()
  t.equal(log.recovery.starts, expected)
  return survivor
}

t.test('an opening counts as a start when it was marked as one, and not before', async (t) => {
  const world = new World()
  const first = await world.open()
  t.equal(first.recovery.starts, 0)
  await first.markStarted()
  await first.close()
  // These two open the log and come to nothing.
  for (let opening = 0; opening < 2; opening++) {
    const failed = await world.open()
    await appendOneByOne(failed, 1)
    await failed.close()
  }
  const last = await world.open()
  t.match(last.recovery, { starts: 1, epoch: 4 })
  await last.markStarted()
  await last.markStarted()
  await last.close()
  t.equal((await world.open()).recovery.starts, 2, 'and none counts twice')
})

t.test('a start that was marked is counted whatever power loss follows', async (t) => {
  let world = new World()
  await (await world.open()).markStarted()
  world = await startsAfterPowerLoss(t, world, 1)
  world = await startsAfterPowerLoss(t, world, 1)
  await startsAfterPowerLoss(t, world, 1)
})

t.test('a start that is marked beside appends shares their batch', async (t) => {
  const world = new World()
  let batches = 0
  const log = await world.open({ observer: { committed: () => void batches++ } })
  const appended = log.append(1, Buffer.from('one'))
  const marked = log.markStarted()
  const more = log.append(2, Buffer.from('two'))
  await Promise.all([appended, marked, more])
  t.ok(batches <= 2)
  const survivor = await startsAfterPowerLoss(t, world, 1)
  t.match(await survivor.verify(), { lastLsn: 2, damage: undefined })
})

t.test('the count goes on through rolls, checkpoints, truncations and copies', async (t) => {
  const world = new World()
  for (let life = 0; life < 3; life++) {
    const log = await world.open()
    await log.markStarted()
    for (let segment = 0; segment < 2; segment++) {
      await appendOneByOne(log, 5)
      await log.roll()
      await log.writeCheckpoint(log.sealedLsn, [Buffer.from('state')])
      await log.truncate()
    }
    await log.close()
  }
  await backUp(world)
  await restore(world, '/data/restored')
  for (const place of [destination, '/data/restored']) {
    const log = await openLog(place, world.options())
    t.equal(log.recovery.starts, 3, place)
    await log.close()
  }
})

t.test('a segment that took no batch yet knows the count as well', async (t) => {
  const world = new World()
  const log = await world.open()
  await log.markStarted()
  await appendOneByOne(log, 5)
  await log.roll()
  // Made by one who has read no batch; and what it covers is not read again.
  await makeCheckpoint(directory, 5, [Buffer.from('state')], world)
  await startsAfterPowerLoss(t, world, 1)
})

t.test('an accepted loss leaves the count of what is left', async (t) => {
  const world = new World()
  for (let life = 0; life < 2; life++) {
    const log = await world.open()
    await log.markStarted()
    await appendOneByOne(log, 5)
    await log.close()
  }
  world.disk.flipBit(world.path(world.segments()[0]!), 8 * 800)
  const acceptLoss = (await world.verify()).damage!.acceptable!
  const log = await world.open({ acceptLoss })
  t.equal(log.recovery.starts, 1)
  await log.close()
})

t.test('a start is no record: LSNs and replay are as without it', async (t) => {
  const world = new World()
  const log = await world.open()
  await log.markStarted()
  t.equal(log.nextLsn, 1)
  await log.roll()
  t.equal(log.segments.length, 1, 'a segment without records is not sealed')
  await appendOneByOne(log, 3)
  await log.close()
  const again = await world.open()
  t.same(await replayedLsns(t, again), range(1, 3))
})

t.test('a closed log, or one whose disk fails, counts nothing', async (t) => {
  const world = new World()
  const log = await world.open()
  await log.close()
  t.equal(await rejection(log.markStarted()), 'WAL_CLOSED')
  const failing = await world.open()
  world.disk.failWhen(({ kind }) => kind === 'writeOnLoop', {
    kind: 'error',
    code: 'EIO',
  })
  t.equal(await rejection(failing.markStarted()), 'WAL_FAILED')
  t.equal((await new World(SimulatedDisk.from(world.disk.snapshot())).open()).recovery.starts, 0)
})
