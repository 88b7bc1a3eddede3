import t, { type Test } from 'tap'
import {
  type AcceptedLoss,
  diagnoseLog,
  openReadOnly,
  restoreLog,
  verifyLog,
  WalDamageError,
} from '../src/index.js'
import { backUp, destination, filesUnder, withLog } from './copies.js'
import { appendOneByOne, directory, range, replayedLsns, type World } from './world.js'

const [oldest, middle, newest] = [11, 21, 31].map(
  (lsn) => `wal/${String(lsn).padStart(16, '0')}-00000001.wal`,
) as [string, string, string]

const faults = {
  'is gone': (world: World, name: string) => world.disk.removeFile(world.path(name)),
  'has a header gone bad': (world: World, name: string) =>
    world.disk.flipBit(world.path(name), 8 * 100),
}

function readerOf({ disk }: World) {
  return openReadOnly(directory, { disk })
}

/** Fails unless the log opens with every record after its newest checkpoint, and goes on. */
async function checkOpens(t: Test, world: World): Promise<void> {
  const log = await world.open()
  t.same(await replayedLsns(t, log), range(31, 35))
  await appendOneByOne(log, 1)
  await log.close()
}

for (const [fault, damage] of Object.entries(faults)) {
  t.test(`a segment after the older checkpoint that ${fault} is damage in history`, async (t) => {
    const world = await withLog()
    damage(world, middle)
    const { damage: needed, historyDamage } = await world.verify()
    t.equal(needed, undefined)
    t.match(historyDamage, [{ firstMissingLsn: 21, lastMissingLsn: 30, coveredBy: 30 }])
    t.equal(historyDamage.length, 1)

    const reader = await readerOf(world)
    t.match({ ...reader }, { firstLsn: 21, checkpoints: [30, 20] })
    for (const lsn of [21, 30]) {
      const refused: unknown = await replayedLsns(t, reader, lsn).catch((error: unknown) => error)
      t.ok(refused instanceof WalDamageError)
      t.match(refused, { code: 'WAL_CORRUPT', damage: historyDamage[0] })
    }
    t.same(await replayedLsns(t, reader), range(31, 35))
    t.same(await replayedLsns(t, reader, 31), range(31, 35))

    await t.rejects(backUp(world), { code: 'WAL_CORRUPT', damage: historyDamage[0] })
    t.equal(filesUnder(world.disk, '/backups'), undefined)
    await checkOpens(t, world)
  })
}

t.test('one more checkpoint ends the damage of records that are missing in history', async (t) => {
  const world = await withLog()
  faults['is gone'](world, middle)
  const log = await world.open()
  await log.roll()
  await log.writeCheckpoint(log.sealedLsn, [Buffer.from('the state after 35')])
  await log.truncate()
  await log.close()
  const { historyDamage, strandedSegments } = await world.verify()
  t.same(
    { historyDamage, strandedSegments },
    { historyDamage: [], strandedSegments: [oldest.slice(4)] },
  )
  t.equal((await readerOf(world)).firstLsn, 31)
  t.match(await backUp(world), { firstLsn: 31, lastLsn: 35 })
})

t.test(
  'a header gone bad in history loses nothing that an accepted loss would cut off',
  async (t) => {
    for (const name of [oldest, middle]) {
      const world = await withLog()
      faults['has a header gone bad'](world, name)
      const { strandedSegments, historyDamage } = await world.verify()
      t.ok(strandedSegments.includes(name.slice(4)), name)
      t.match(historyDamage, [{ file: name, why: 'its header fails its checksum', coveredBy: 30 }])
      const { cutOff } = await diagnoseLog(directory, { disk: world.disk })
      t.same(cutOff, [])
      const log = await world.open()
      t.same(log.recovery.strandedSegments, strandedSegments)
      await log.close()
      t.ok(world.files().includes(name), 'it stays where it is')
      t.same(
        world.files().filter((file) => file.startsWith('quarantine')),
        [],
      )
      await checkOpens(t, world)
    }
  },
)

t.test(
  'after another loss is accepted, a header gone bad in history stays in its place',
  async (t) => {
    const world = await withLog()
    faults['has a header gone bad'](world, middle)
    world.disk.flipBit(world.path(newest), 8 * 700)
    const { damage } = await world.verify()
    t.match(damage, { file: newest })
    await (await world.open({ acceptLoss: damage!.acceptable! })).close()
    t.ok(world.files().includes(middle))
    t.match((await world.verify()).historyDamage, [{ firstMissingLsn: 21, lastMissingLsn: 30 }])
  },
)

t.test('the size of a segment in history costs only the records that it cut off', async (t) => {
  for (const [bytes, missing] of [
    [8192, []],
    [2048, []],
    [1024, [{ file: middle, lastMissingLsn: 30, coveredBy: 30 }]],
  ] as const) {
    const world = await withLog()
    const path = world.path(middle)
    const resized = new Uint8Array(bytes)
    resized.set(world.disk.readFile(path).subarray(0, bytes))
    world.disk.writeFile(path, resized)
    const { damage, historyDamage, strandedSegments } = await world.verify()
    t.match(
      { damage, historyDamage, strandedSegments },
      { damage: undefined, strandedSegments: [] },
    )
    t.equal(historyDamage.length, missing.length, `${bytes} bytes`)
    t.match(historyDamage, missing)
    const reading = replayedLsns(t, await readerOf(world), 11)
    if (missing.length === 0) t.same(await reading, range(11, 35))
    else await t.rejects(reading, { code: 'WAL_CORRUPT', damage: { coveredBy: 30 } })
    await checkOpens(t, world)
  }
})

t.test(
  'where an accepted loss leaves only a checkpoint, the older one is not read on',
  async (t) => {
    const world = await withLog()
    for (const name of world.segments()) faults['is gone'](world, name)
    const { damage } = await world.verify()
    await (await world.open({ acceptLoss: damage?.acceptable as AcceptedLoss })).close()
    const { damage: after, historyDamage } = await world.verify()
    t.equal(after, undefined)
    t.match(historyDamage, [{ firstMissingLsn: 21, lastMissingLsn: 30, coveredBy: 30 }])
    const reader = await readerOf(world)
    t.match(reader.gaps, [{ firstLsn: 31 }])
    t.same(await replayedLsns(t, reader, 31), [])
    await t.rejects(replayedLsns(t, reader, 21), { code: 'WAL_CORRUPT', damage: historyDamage[0] })
  },
)

t.test('a checkpoint that an interrupted truncation has left is not read on', async (t) => {
  const world = await withLog()
  // What a crash leaves between the removal of the segments and that of the checkpoint at 10.
  faults['is gone'](world, oldest)
  const { historyDamage, firstLsn } = await world.verify()
  t.same({ historyDamage, firstLsn }, { historyDamage: [], firstLsn: 21 })
  const reader = await readerOf(world)
  t.match({ ...reader }, { firstLsn: 21, checkpoints: [30, 20] })
  for (const lsn of reader.checkpoints) {
    t.same(await replayedLsns(t, reader, lsn + 1), range(lsn + 1, 35))
  }
  t.match(await backUp(world), { firstLsn: 21, lastLsn: 35 })
})

t.test('a copy that lost a segment after its older checkpoint is not restored', async (t) => {
  const world = await withLog()
  await backUp(world)
  world.disk.removeFile(`${destination}/${middle}`)
  const found = await verifyLog(destination, { disk: world.disk })
  t.match(found.historyDamage, [{ firstMissingLsn: 21, lastMissingLsn: 30 }])
  const { disk, clock } = world
  await t.rejects(restoreLog(destination, '/data/restored', { disk, clock }), {
    code: 'WAL_CORRUPT',
    damage: found.historyDamage[0],
  })
})
