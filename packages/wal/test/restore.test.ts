import { Random, SimulatedClock, SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import { backupLog, type Log, openLog, restoreLog, verifyLog } from '../src/index.js'
import {
  backUp,
  contentOf,
  destination,
  filesUnder,
  hastyClock,
  restore,
  withLog,
} from './copies.js'
import {
  appendOneByOne,
  appendTogether,
  directory,
  lineAt,
  range,
  rejection,
  replayedLsns,
  World,
} from './world.js'

const restored = '/data/restored'

/** A machine with a backup and its original log, which has continued since. */
async function withBackup(): Promise<World> {
  const world = await withLog()
  await backUp(world)
  const log = await world.open()
  await appendOneByOne(log, 7)
  await log.close()
  return world.with(world.disk.powerLoss('keep-all'))
}

t.test("a restored log contains the backup's records and continues after a gap", async (t) => {
  const world = await withBackup()
  const before = contentOf(world.disk, destination)
  const result = await restore(world, restored)
  t.match(result, { firstLsn: 11, lastLsn: 35, nextLsn: lineAt(world), epoch: 2 })
  t.same(contentOf(world.disk, destination), before, 'the backup is as it was')
  const log = await openLog(restored, world.options())
  t.equal(log.nextLsn, result.nextLsn)
  t.same(log.gaps, [{ firstLsn: 36, lastLsn: result.nextLsn - 1, reason: 'restored' }])
  t.same(await replayedLsns(t, log, 11), range(11, 35))
  await appendOneByOne(log, 1)
  await log.close()
})

/** Restores the backup, appends to it, and returns the issued LSNs. */
async function goOn(world: World, to: string, from = destination): Promise<number[]> {
  await restoreLog(from, to, { disk: world.disk, clock: hastyClock(world) })
  return issue(await openLog(to, world.options()))
}

/** More records than a segment can contain, because after a loss the log skips at least this far. */
async function issue(log: Log): Promise<number[]> {
  const { nextLsn } = log
  while (log.nextLsn < nextLsn + 1500) await appendTogether(log, 3)
  await log.close()
  return range(nextLsn, log.durableLsn)
}

/** Fails if an LSN is in more than one list. */
function checkDisjoint(t: Test, ...lists: number[][]): void {
  const all = lists.flat()
  t.equal(new Set(all).size, all.length, JSON.stringify(lists.map((list) => list[0])))
}

t.test('two logs restored from one backup do not issue the same LSNs', async (t) => {
  const world = await withBackup()
  world.clock.jump(Date.UTC(2026, 10, 19) - world.clock.now())
  const first = await goOn(world, '/data/first')
  world.clock.jump(1000)
  const second = await goOn(world, '/data/second')
  checkDisjoint(t, range(1, 42), first, second)
})

t.test(
  'two logs restored from a backup of a just restored log do not issue the same LSNs',
  async (t) => {
    const world = await withBackup()
    world.clock.jump(Date.UTC(2026, 10, 19) - world.clock.now())
    const first = await goOn(world, '/data/first')
    const { disk } = world
    await backupLog('/data/first', '/backups/tuesday', { disk, clock: hastyClock(world) })
    const rest = []
    for (const to of ['/data/second', '/data/third']) {
      world.clock.jump(1000)
      rest.push(await goOn(world, to, '/backups/tuesday'))
    }
    checkDisjoint(t, range(1, 42), first, ...rest)
  },
)

t.test(
  'a log with an accepted loss and a restored copy of it do not issue the same LSNs',
  async (t) => {
    const world = await withBackup()
    world.clock.jump(Date.UTC(2026, 10, 19) - world.clock.now())
    const newest = world.segments().at(-1)!
    world.disk.flipBit(world.path(newest), 8 * 700)
    const acceptLoss = (await world.verify()).damage!.acceptable!
    const accepted = await issue(await world.open({ acceptLoss }))
    world.clock.jump(1000)
    checkDisjoint(t, range(1, 42), accepted, await goOn(world, restored))
  },
)

/** Every restore is rejected, leaves nothing, and tells the operator to set the next LSN. */
async function refuseToGuess(t: Test, world: World, message: RegExp): Promise<void> {
  for (const to of ['/data/first', '/data/second']) {
    const refused: unknown = await restore(world, to).catch((error: unknown) => error)
    t.match(refused, { code: 'WAL_NO_LSN', message })
    t.match((refused as Error).message, /Set the clock, or choose an LSN in options\.restored/)
    t.equal(filesUnder(world.disk, to), undefined)
    world.clock.jump(1000)
  }
  t.match(await restore(world, '/data/first', { nextLsn: 2 ** 52 }), { nextLsn: 2 ** 52 })
  const second = await restore(world, '/data/second', { nextLsn: 2 ** 52 + 2 ** 40 })
  t.equal(second.nextLsn, 2 ** 52 + 2 ** 40)
}

t.test('a restore rejects a clock that is before the newest time in the backup', async (t) => {
  for (const at of [0, Date.UTC(2025, 0, 1), Date.UTC(2026, 0, 2)]) {
    const world = await withBackup()
    world.clock.jump(at - world.clock.now())
    await refuseToGuess(
      t,
      world,
      /from the clock: it shows .*, but the log was written at 2026-07-01T/,
    )
  }
})

t.test('a restore rejects a clock before 2026', async (t) => {
  const world = new World(new SimulatedDisk(), new SimulatedClock({ startMs: 0 }))
  const log = await world.open()
  await appendOneByOne(log, 3)
  await log.close()
  await backUp(world)
  await refuseToGuess(
    t,
    world,
    /from the clock: it shows 1970-01-01T.*, but LSN 3 .* from 2026-01-01T/,
  )
})

t.test('a log whose LSNs are ahead of the clock is restored only with nextLsn', async (t) => {
  const world = await withLog()
  const log = await world.open({ restored: { nextLsn: 2 ** 51 } })
  await appendOneByOne(log, 3)
  await log.close()
  await backUp(world)
  await refuseToGuess(t, world, /but LSN 2251799813685250 .* from 2043-/)
})

t.test('with a wrong clock, a loss is accepted only with nextLsn', async (t) => {
  const world = await withLog()
  world.disk.flipBit(world.path(world.segments().at(-1)!), 8 * 700)
  const acceptLoss = (await world.verify()).damage!.acceptable!
  world.clock.jump(Date.UTC(2026, 0, 2) - world.clock.now())
  for (const options of [{ acceptLoss }, { acceptLoss, restored: true } as const]) {
    t.equal(await rejection(world.open(options)), 'WAL_NO_LSN')
  }
  const log = await world.open({ acceptLoss, restored: { nextLsn: 2 ** 52 } })
  t.equal(log.nextLsn, 2 ** 52)
  await log.close()
})

t.test('the time in a checkpoint counts even if nothing else is left', async (t) => {
  const world = await withLog()
  for (const name of world.segments()) world.disk.removeFile(world.path(name))
  const acceptLoss = (await world.verify()).damage!.acceptable!
  world.clock.jump(Date.UTC(2026, 0, 2) - world.clock.now())
  t.equal(await rejection(world.open({ acceptLoss })), 'WAL_NO_LSN')
})

t.test('a restore rejects a clock past the last possible LSN', async (t) => {
  const world = await withBackup()
  world.clock.jump(Date.UTC(2100, 0, 1) - world.clock.now())
  const refused: unknown = await restore(world, restored).catch((error: unknown) => error)
  t.match(refused, { code: 'WAL_NO_LSN', message: /2100-01-01T.*clock/ })
  t.equal(filesUnder(world.disk, restored), undefined)
  t.match(await restore(world, restored, { nextLsn: 1000 }), { nextLsn: 1000 })
})

t.test('nextLsn must be higher than every LSN in the backup', async (t) => {
  const world = await withBackup()
  const { disk } = world
  t.match(await restore(world, restored, { nextLsn: 1000 }), { nextLsn: 1000 })
  for (const nextLsn of [35, 0, 1.5]) {
    t.equal(await rejection(restore(world, '/data/another', { nextLsn })), 'WAL_BAD_OPTION')
  }
  t.equal(filesUnder(disk, '/data/another'), undefined)
  t.match(await restore(world, '/data/another', { nextLsn: 36 }), { nextLsn: 36 })
})

t.test('restore rejects an open log as backup, and a destination that exists', async (t) => {
  const world = await withBackup()
  const { disk } = world
  const to = (from: string, place: string) => rejection(restoreLog(from, place, { disk }))
  t.equal(await to(destination, directory), 'WAL_BAD_DESTINATION')
  t.equal(await to(destination, destination), 'WAL_BAD_DESTINATION')
  t.equal(await to('/none', restored), 'WAL_NOT_A_LOG')
  const log = await openLog(directory, world.options({ disk: disk.process() }))
  t.equal(await to(directory, restored), 'WAL_LOCKED')
  await log.close()
  t.equal(filesUnder(disk, restored), undefined)
})

t.test('a lock without a holder name counts as a running writer', async (t) => {
  const world = await withBackup()
  await world.disk.process().lock(`${destination}/LOCK`, '')
  const refused = { code: 'WAL_LOCKED', message: /in use by another process/ }
  await t.rejects(restore(world, restored), refused)
  t.equal(filesUnder(world.disk, restored), undefined)
})

t.test('a backup on a read-only medium can be restored', async (t) => {
  const world = await withBackup()
  world.disk.failWhen(({ kind, path }) => kind === 'lock' && path.startsWith(`${destination}/`), {
    kind: 'error',
    code: 'EROFS',
  })
  t.match(await restore(world, restored), { lastLsn: 35 })
})

t.test('a damaged backup is rejected by name', async (t) => {
  const world = await withBackup()
  const [segment] = world.disk.files().filter((path) => path.startsWith(`${destination}/wal`))
  world.disk.flipBit(segment!, 8 * 700)
  t.equal(await rejection(restore(world, restored)), 'WAL_CORRUPT')
  t.equal(filesUnder(world.disk, '/data/restored'), undefined)
})

t.test('a backup with a torn tail is rejected', async (t) => {
  const world = await withBackup()
  const newest = world.disk
    .files()
    .findLast((path) => path.endsWith('.wal') && path.startsWith(destination))!
  const bytes = world.disk.readFile(newest)
  bytes[bytes.findLastIndex((byte) => byte !== 0) + 600] = 1
  world.disk.writeFile(newest, bytes)
  const refused: unknown = await restore(world, restored).catch((error: unknown) => error)
  t.match(refused, { code: 'WAL_AMBIGUOUS', damage: { firstMissingLsn: 36 } })
  t.equal(filesUnder(world.disk, restored), undefined)
})

t.test('a failure or power loss at any call leaves no log that could reissue an LSN', async (t) => {
  const image = (await withBackup()).disk.snapshot()
  const origin = await withBackup()
  const machineOf = () => origin.with(SimulatedDisk.from(image))
  const rehearsal = machineOf()
  await restore(rehearsal, restored)
  const faults = [
    { kind: 'error', code: 'EIO' },
    { kind: 'error', code: 'ENOSPC' },
    { kind: 'crash', when: 'before' },
    { kind: 'crash', when: 'after' },
  ] as const
  for (let index = 0; index < rehearsal.disk.callCount; index++) {
    for (const fault of faults) {
      const machine = machineOf()
      machine.disk.failCall(index, fault)
      const what = `${JSON.stringify(fault)} at call ${index}`
      const refused = await rejection(restore(machine, restored))
      const random = new Random(index)
      const disk = fault.kind === 'crash' ? machine.disk.powerLoss({ random }) : machine.disk
      if (filesUnder(disk, restored) === undefined) {
        t.match(refused, /^WAL_/, what)
        continue
      }
      const { damage, lastLsn, gaps } = await verifyLog(restored, { disk })
      t.match({ damage, lastLsn, gaps }, { damage: undefined, gaps: [{ firstLsn: 36 }] }, what)
    }
  }
})
