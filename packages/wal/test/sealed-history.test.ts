import { Random, SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import {
  type AcceptedLoss,
  diagnoseLog,
  makeCheckpoint,
  openReadOnly,
  restoreLog,
  verifyLog,
  WalDamageError,
} from '../src/index.js'
import { backUp, destination, filesUnder, withLog } from './copies.js'
import { appendOneByOne, directory, range, rejection, replayedLsns, World } from './world.js'

// ---- a checkpoint of sealed segments

const state = [Buffer.from('the state')]

/** An open log with records up to 30 in sealed segments and a few after them. */
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

t.test('a checkpoint made by another process is noticed at the next truncation', async (t) => {
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
})

t.test('makeCheckpoint works only at the end of a sealed segment', async (t) => {
  const { log, make } = await withSealed()
  for (const lsn of [0, 9, 31, 35, 36]) t.equal(await rejection(make(lsn)), 'WAL_BAD_CHECKPOINT')
  t.same(await make(20), [20])
  await log.close()
})

t.test(
  'a checkpoint that cannot be read back is not returned, and nothing is removed because of it',
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

t.test('a checkpoint that was just verified is not read again', async (t) => {
  const { world, log, make } = await withSealed()
  await make(10)
  const verified = await make(20)
  const from = world.disk.callCount
  await log.truncate({ verified })
  const reads = world.disk.calls.slice(from).filter(({ kind }) => kind === 'read')
  t.same(reads, [])
  await log.close()
})

t.test('a full disk fails the checkpoint and leaves the log unchanged', async (t) => {
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

t.test('a crash at any call of making checkpoints and truncating loses nothing', async (t) => {
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
})

t.test('makeCheckpoint rejects a directory without a log', async (t) => {
  const world = new World()
  const made = makeCheckpoint(directory, 1, state, { disk: world.disk, clock: world.clock })
  t.equal(await rejection(made), 'WAL_NOT_A_LOG')
})

// ---- sealed segments that are missing or bad

/** The segments that begin with LSN 11, 21 and 31. */
const [oldest, middle, newest] = [2, 3, 4].map(
  (sequence) => `wal/000000000000000${sequence}-00000001.wal`,
) as [string, string, string]

const faults = {
  'is gone': (world: World, name: string) => world.disk.removeFile(world.path(name)),
  'has a header gone bad': (world: World, name: string) =>
    world.disk.flipBit(world.path(name), 8 * 100),
}

function readerOf({ disk }: World) {
  return openReadOnly(directory, { disk })
}

/** Fails unless the log opens with every record after its newest checkpoint, and continues. */
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

t.test('truncation after another checkpoint removes history damage', async (t) => {
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

t.test('a damaged header in the history costs no other records', async (t) => {
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
    t.ok(world.files().includes(name), 'it stays in its place')
    t.same(
      world.files().filter((file) => file.startsWith('quarantine')),
      [],
    )
    await checkOpens(t, world)
  }
})

t.test(
  'accepting another loss leaves a segment with a damaged header in the history in place',
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

t.test('a shortened segment in the history costs only the missing records', async (t) => {
  for (const [bytes, missing] of [
    [8192, []],
    [2560, []],
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
  'if an accepted loss leaves only a checkpoint, the log does not continue from an older one',
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

t.test('a checkpoint left by an interrupted truncation is not used as a start', async (t) => {
  const world = await withLog()
  // The state after a crash between the removal of the segments and that of the checkpoint at 10.
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
