import { Random, SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import {
  attachLog,
  detachCopy,
  type Log,
  type LogOptions,
  openLog,
  openReadOnly,
  restoreLog,
  seedCopy,
} from '../src/index.js'
import { backUp, destination } from './copies.js'
import {
  appendOneByOne,
  appendTogether,
  directory,
  outcomeOf,
  range,
  rejection,
  replayedLsns,
  World,
} from './world.js'

const shared = { logId: '00112233445566778899aabbccddeeff', era: 3 }
/** The time of the last record in the checkpoint, by the shared log's clock. */
const seededMs = Date.UTC(2026, 5, 1)
const asCopy: LogOptions = { copyOf: shared }

function machineOf({ disk, clock }: World) {
  return { disk, clock }
}

/** A copy that begins with the state after LSN 40, decided in epoch 7 of the shared log. */
async function seeded(): Promise<World> {
  const world = new World()
  const place = { ...shared, lsn: 40, sharedEpoch: 7, clockMs: seededMs }
  await seedCopy(directory, place, [Buffer.from('the state after 40')], machineOf(world))
  return world
}

async function stateOf(log: Log): Promise<string> {
  const chunks: string[] = []
  for await (const chunk of log.readCheckpoint()) chunks.push(Buffer.from(chunk).toString())
  return chunks.join()
}

t.test('a copy begins with a checkpoint alone, and continues after it', async (t) => {
  const world = await seeded()
  const log = await world.open(asCopy)
  t.match(log, { nextLsn: 41, checkpointLsn: 40, sharedEpoch: 7, sync: 'interval' })
  t.equal(log.recovery.latestClockMs, seededMs)
  t.equal(await stateOf(log), 'the state after 40')
  await appendOneByOne(log, 5)
  await log.close()
  const again = await world.open(asCopy)
  t.same(await replayedLsns(t, again), range(41, 45))
  t.equal(again.sharedEpoch, 7)
  await again.close()
  const reader = await openReadOnly(directory, machineOf(world))
  t.match({ ...reader }, { logId: shared.logId, firstLsn: 41, checkpointLsn: 40 })
})

t.test('a copy closes in an epoch without records before its next segment is ready', async (t) => {
  const world = await seeded()
  const log = await world.open(asCopy)
  await log.append(41, [Buffer.from('a record')])
  log.enterEpoch(8)
  await log.close()
  const again = await world.open(asCopy)
  t.equal(again.nextLsn, 42)
  await again.close()
})

t.test('a copy rolls, makes checkpoints and truncates like any log', async (t) => {
  const world = await seeded()
  const log = await world.open(asCopy)
  for (let round = 0; round < 4; round++) {
    await appendOneByOne(log, 11)
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, [Buffer.from(`the state after ${log.sealedLsn}`)])
    await log.truncate()
  }
  await appendOneByOne(log, 3)
  t.equal(log.firstLsn, 74)
  await log.close()
  const again = await world.open(asCopy)
  t.equal(await stateOf(again), 'the state after 84')
  t.same(await replayedLsns(t, again), range(85, 87))
  await again.close()
  t.match(await world.verify(), { damage: undefined, historyDamage: [] })
})

t.test('an empty directory becomes a copy of the whole shared log', async (t) => {
  const world = new World()
  const log = await world.open(asCopy)
  t.equal(log.nextLsn, 1)
  await appendOneByOne(log, 3)
  await log.close()
  t.match(await world.verify(), { logId: shared.logId, lastLsn: 3 })
})

t.test("a reader learns the shared log's epochs, not the openings of the copy", async (t) => {
  const world = new World()
  for (const epoch of [1, 1, 2]) {
    const log = await world.open(asCopy)
    log.enterEpoch(epoch)
    await appendOneByOne(log, 3)
    log.enterEpoch(epoch + 3)
    // In one turn: the epoch separates them nevertheless.
    const before = appendTogether(log, 2)
    log.enterEpoch(epoch + 4)
    await Promise.all([before, appendTogether(log, 2)])
    await log.close()
  }
  const { openings } = await openReadOnly(directory, machineOf(world))
  t.same(
    openings.map(({ epoch, firstLsn }) => [epoch, firstLsn]),
    [
      [1, 1],
      [4, 4],
      [5, 6],
      [1, 8],
      [4, 11],
      [5, 13],
      [2, 15],
      [5, 18],
      [6, 20],
    ],
  )
  t.same(
    (await openReadOnly(directory, machineOf(await seeded()))).openings,
    [],
    'the epoch of a seeded copy began elsewhere',
  )
})

t.test('only a copy has epochs of a shared log', async (t) => {
  const log = await new World().open()
  t.throws(() => log.enterEpoch(1), { code: 'WAL_BAD_OPTION' })
  t.equal(log.sharedEpoch, 0)
  await log.close()
})

// ---- a copy is no log of its own

t.test('a copy opens only as a copy of its own shared log', async (t) => {
  const world = await seeded()
  await (await world.open(asCopy)).close()
  await t.rejects(world.open(), { code: 'WAL_COPY_OF_SHARED_LOG', message: /detachCopy/ })
  const acceptLoss = { segment: 1, offset: 512 }
  t.equal(await rejection(world.open({ acceptLoss })), 'WAL_COPY_OF_SHARED_LOG')
  for (const other of [
    { ...shared, era: 4 },
    { ...shared, logId: 'ff'.repeat(16) },
  ]) {
    await t.rejects(world.open({ copyOf: other }), {
      code: 'WAL_NOT_THIS_COPY',
      message: /holds log 0011.*, era 3/,
    })
  }
  for (const logId of [shared.logId, 'ff'.repeat(16)]) {
    const own = new World()
    await (await own.open({ randomBytes: () => Buffer.from(logId, 'hex') })).close()
    await t.rejects(own.open(asCopy), { code: 'WAL_NOT_THIS_COPY', message: /holds its own log/ })
  }
  // HEAD is not the only file that says so.
  for (const at of [20, 532]) world.disk.flipBit(world.path('HEAD'), at * 8)
  t.equal(await rejection(world.open()), 'WAL_COPY_OF_SHARED_LOG')
})

t.test('a copy takes no options that would change what it contains', async (t) => {
  const world = new World()
  const bad: LogOptions[] = [
    { ...asCopy, acceptLoss: { segment: 1, offset: 512 } },
    { ...asCopy, restored: true },
    { ...asCopy, sync: 'always' },
    { ...asCopy, sync: 'none' },
    { ...asCopy, syncIntervalMs: 101 },
    { copyOf: { logId: 'abc', era: 1 } },
    { copyOf: { ...shared, era: 0 } },
  ]
  for (const options of bad) {
    t.equal(await rejection(world.open(options)), 'WAL_BAD_OPTION', JSON.stringify(options))
  }
  t.same(world.files(), [])
})

t.test('a detached copy is a log of its own behind a declared gap', async (t) => {
  for (const nextLsn of [undefined, 1000]) {
    const world = await seeded()
    const log = await world.open(asCopy)
    await appendOneByOne(log, 5)
    await t.rejects(detachCopy(directory, machineOf(world)), { code: 'WAL_LOCKED' })
    await log.close()
    const next = await detachCopy(directory, { ...machineOf(world), nextLsn })
    t.equal(next, nextLsn ?? (world.clock.now() - Date.UTC(2026, 0, 1)) * 4096)
    t.equal(await rejection(world.open(asCopy)), 'WAL_NOT_THIS_COPY')
    const own = await world.open()
    t.equal(own.nextLsn, next)
    t.same(own.gaps, [{ firstLsn: 46, lastLsn: next - 1, reason: 'restored' }])
    t.equal(await stateOf(own), 'the state after 40')
    t.same(await replayedLsns(t, own), range(41, 45))
    await own.close()
    t.equal(
      await rejection(detachCopy(directory, machineOf(world))),
      'WAL_NOT_THIS_COPY',
      'it cannot be detached twice',
    )
  }
})

t.test('a log of its own becomes the beginning of a shared log', async (t) => {
  const world = new World()
  const own = await world.open()
  await appendOneByOne(own, 5)
  await own.close()
  const { logId } = await world.verify()
  const other = attachLog(directory, shared, machineOf(world))
  t.equal(await rejection(other), 'WAL_NOT_THIS_COPY', 'a shared log keeps the id')
  await attachLog(directory, { logId, era: 1 }, machineOf(world))
  t.equal(await rejection(world.open()), 'WAL_COPY_OF_SHARED_LOG')
  const copy = await world.open({ copyOf: { logId, era: 1 } })
  t.equal(copy.nextLsn, 6)
  t.same(await replayedLsns(t, copy), range(1, 5))
  await copy.close()
})

t.test('a restored backup of a copy is a log of its own', async (t) => {
  const world = await seeded()
  const log = await world.open(asCopy)
  await appendOneByOne(log, 5)
  await log.close()
  await backUp(world)
  t.equal(await rejection(openLog(destination, world.options())), 'WAL_COPY_OF_SHARED_LOG')
  const { nextLsn } = await restoreLog(destination, '/data/restored', machineOf(world))
  const restored = await openLog('/data/restored', world.options())
  t.equal(restored.nextLsn, nextLsn)
  t.same(await replayedLsns(t, restored), range(41, 45))
  await restored.close()
})

// ---- a copy is synced in the background, and its tail is never doubtful

t.test('what a copy has for 100 ms survives a power loss', async (t) => {
  const world = await seeded()
  const log = await world.open(asCopy)
  await appendOneByOne(log, 5)
  await world.clock.advance(100)
  await appendOneByOne(log, 5)
  const survivor = await world.with(world.disk.powerLoss('keep-none')).open(asCopy)
  t.equal(survivor.durableLsn, 45)
  await survivor.close()
})

/** Fails unless the copy opens with a prefix of what was appended, and can follow from there. */
async function checkFollows(t: Test, world: World, least: number, most: number, what: string) {
  const log = await world.open(asCopy)
  const lsns = await replayedLsns(t, log)
  const { durableLsn } = log
  if (durableLsn < least || durableLsn > most) t.fail(`${what}: ${durableLsn}`)
  t.same(lsns, range(log.checkpointLsn + 1, durableLsn), what)
  await appendOneByOne(log, 2)
  await log.close()
  t.match(await outcomeOf(t, world, asCopy), { lsns: range(log.checkpointLsn + 1, durableLsn + 2) })
}

t.test('an unsynced tail is cut wherever it is torn or damaged', async (t) => {
  const world = await seeded()
  const log = await world.open(asCopy)
  await appendOneByOne(log, 5)
  await world.clock.advance(100)
  await appendOneByOne(log, 8)
  let cases = 0
  for (let seed = 0; seed < 300; seed++) {
    const survivor = world.with(world.disk.powerLoss({ random: new Random(seed) }))
    await checkFollows(t, survivor, 45, 53, `power loss ${seed}`)
    cases++
  }
  const whole = world.with(world.disk.powerLoss('keep-all'))
  const name = whole.segments().at(-1) ?? ''
  const synced = Buffer.from(whole.disk.readFile(whole.path(name))).indexOf('TNRB')
  t.equal(synced, 512)
  const { usedBytes } = log.segments.at(-1)!
  for (let byte = 512; byte < usedBytes; byte += 3) {
    const flipped = whole.copy()
    flipped.disk.flipBit(flipped.path(name), byte * 8 + (byte % 8))
    const { damage } = await flipped.verify()
    // Only a later batch proves that one was synced, and then it is no tail.
    if (damage !== undefined) t.equal(damage.kind, 'corrupt')
    else await checkFollows(t, flipped, 45, 53, `byte ${byte}`)
    cases++
  }
  t.ok(cases > 500, `${cases} cases`)
})

t.test('a power loss at any call of a copy leaves a copy that can follow', async (t) => {
  const life = async (machine: World, told: { synced: number; appended: number }) => {
    const place = { ...shared, lsn: 40, sharedEpoch: 7, clockMs: seededMs }
    await seedCopy(directory, place, [Buffer.from('the state after 40')], machineOf(machine))
    const log = await machine.open(asCopy)
    for (let round = 0; round < 3; round++) {
      told.appended = await appendTogether(log, 4)
      if (round === 1) log.enterEpoch(8)
      told.appended = await appendOneByOne(log, 7)
      const { durableLsn } = log
      await machine.clock.advance(100)
      told.synced = durableLsn
      await log.roll()
      await log.writeCheckpoint(log.sealedLsn, [Buffer.from(`the state after ${log.sealedLsn}`)])
      await log.truncate()
    }
    await log.close()
  }
  const rehearsal = new World()
  await life(rehearsal, { synced: 0, appended: 0 })
  let cases = 0
  for (let index = 0; index < rehearsal.disk.callCount; index++) {
    for (const policy of ['keep-none', 'keep-all', { random: new Random(index) }] as const) {
      const machine = new World(new SimulatedDisk())
      machine.disk.failCall(index, { kind: 'crash', when: 'after' })
      const told = { synced: 0, appended: 0 }
      await rejection(life(machine, told))
      const survivor = machine.with(machine.disk.powerLoss(policy))
      const isThere = survivor.files().includes('HEAD')
      if (!isThere) continue
      await checkFollows(
        t,
        survivor,
        told.synced,
        Math.max(40, told.appended) + 11,
        `call ${index}`,
      )
      cases++
    }
  }
  t.ok(cases > 300, `${cases} cases`)
})
