import { type DiskCall, Random, SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import { backupLog, type CopyProgress, type Log, verifyLog, WalDamageError } from '../src/index.js'
import {
  backUp,
  checkWhole,
  contentOf,
  destination,
  filesUnder,
  hastyClock,
  restore,
  steppedDisk,
  withLog,
} from './copies.js'
import {
  appendOneByOne,
  appendTogether,
  directory,
  range,
  rejection,
  World,
  withFileMethods,
} from './world.js'

const staged = `${destination}.copying`

t.test('a backup of a closed log is that log, under another name', async (t) => {
  const world = await withLog()
  const before = contentOf(world.disk, directory)
  const seen: CopyProgress[] = []
  const backup = await backUp(world, { onProgress: (progress) => seen.push(progress) })
  const { logId, epoch } = await world.verify()
  t.match(backup, { logId, epoch, firstLsn: 11, lastLsn: 35, segments: 3, checkpoints: 3 })
  t.ok(backup.bytes > 1000 && backup.bytes < 20_000, `${backup.bytes} bytes`)
  t.same(contentOf(world.disk, directory), before, 'nothing is changed in the log itself')
  t.equal(filesUnder(world.disk, staged), undefined)
  t.notOk(filesUnder(world.disk, destination)?.some((path) => path.includes('spare')))
  const { copiedBytes, totalBytes } = seen.at(-1)!
  t.equal(copiedBytes, totalBytes, 'progress ends with everything')
  await checkWhole(t, world, 11, 35)
})

t.test('a backup is on the medium when it is told of', async (t) => {
  const world = await withLog()
  await backUp(world)
  await checkWhole(t, world.with(world.disk.powerLoss('keep-none')), 11, 35)
})

t.test('a log without a record, and one that was never rolled, are copied', async (t) => {
  for (const records of [0, 1, 5]) {
    const world = new World()
    const log = await world.open()
    await appendOneByOne(log, records)
    const backup = await backUp(world)
    t.match(backup, { firstLsn: 1, lastLsn: records, segments: 1, checkpoints: 0 })
    await checkWhole(t, world, 1, records)
    await log.close()
  }
})

t.test('a backup of a backup is the same log', async (t) => {
  const world = await withLog()
  const { bytes: _, ...first } = await backUp(world)
  const { disk } = world
  t.match(await backupLog(destination, '/backups/again', { disk }), first)
})

/** What a busy writer does, one piece after the other. */
function* piecesOf(log: Log): Generator<Promise<unknown>> {
  for (;;) {
    yield appendOneByOne(log, 3)
    yield appendTogether(log, 5)
    yield log.roll()
    const { sealedLsn } = log
    yield log.writeCheckpoint(sealedLsn, [Buffer.from(`the state after ${sealedLsn}`)])
    yield appendTogether(log, 2)
    yield log.truncate()
  }
}

/** A disk for the copier on which the writer does a piece of its work before every n-th call. */
function besideWriter(world: World, log: Log, every: number, most: number) {
  const pieces = piecesOf(log)
  let calls = 0
  let done = 0
  return steppedDisk(world.disk.process(), async () => {
    if (++calls % every !== 0 || done === most) return
    done++
    await pieces.next().value
  })
}

t.test('beside a writer that appends, rolls and truncates, every copy is a prefix', async (t) => {
  const copy = (await withLog()).copier()
  for (let every = 1; every <= 40; every++) {
    const world = copy()
    const log = await world.open()
    await appendOneByOne(log, 1)
    const acknowledged = log.durableLsn
    const disk = besideWriter(world, log, every, 60)
    const backup = await backUp(world, { disk })
    const what = `work before every call of ${every}`
    t.ok(backup.lastLsn >= acknowledged, `${what}: all that was acknowledged before is there`)
    t.ok(backup.lastLsn <= log.durableLsn, what)
    await log.close()
    await checkWhole(t, world, backup.firstLsn, backup.lastLsn, what)
  }
})

t.test('at whatever call the writer rolls and truncates, the copy is a prefix', async (t) => {
  const copy = (await withLog()).copier()
  const rehearsal = copy()
  await backUp(rehearsal)
  const calls = rehearsal.disk.callCount
  for (let at = 1; at <= calls; at++) {
    const world = copy()
    const log = await world.open()
    let count = 0
    const disk = steppedDisk(world.disk.process(), async () => {
      if (++count !== at) return
      const pieces = piecesOf(log)
      for (let piece = 0; piece < 12; piece++) await pieces.next().value
    })
    const backup = await backUp(world, { disk })
    await log.close()
    await checkWhole(t, world, backup.firstLsn, backup.lastLsn, `at call ${at}`)
  }
})

t.test('a log that is always truncated before its turn is given up, typed', async (t) => {
  const world = await withLog()
  const log = await world.open()
  const before = besideWriter(world, log, 1, Number.POSITIVE_INFINITY)
  t.equal(await rejection(backUp(world, { disk: before })), 'WAL_OVERTAKEN')
  t.equal(filesUnder(world.disk, '/backups'), undefined)
  await log.close()
})

t.test('a batch that is half on its way is waited for', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 3)
  const path = world.path(world.segments().at(-1)!)
  const without = world.disk.readFile(path)
  await appendOneByOne(log, 1)
  const whole = world.disk.readFile(path)
  // Its last byte is still missing, in a way that no crash leaves behind.
  const end = whole.findLastIndex((byte) => byte !== 0)
  const half = whole.slice()
  half[end] = without[end]!
  world.disk.writeFile(path, half)
  const clock = hastyClock(world, () => world.disk.writeFile(path, whole))
  t.match(await backUp(world, { clock }), { lastLsn: 4 })
  world.disk.writeFile(path, half)
  const again = backupLog(directory, '/backups/again', {
    disk: world.disk,
    clock: hastyClock(world),
  })
  t.equal(await rejection(again), 'WAL_AMBIGUOUS', 'one that stays so is damage')
})

t.test('what a crash tore is left behind, and the copy opens without it', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 3)
  const path = world.path(world.segments().at(-1)!)
  const whole = world.disk.readFile(path)
  await log.close()
  const end = whole.findLastIndex((byte) => byte !== 0) + 1
  whole[end + 600] = 1
  world.disk.writeFile(path, whole)
  t.match(await backUp(world), { lastLsn: 3 })
  await checkWhole(t, world, 1, 3)
})

/** A machine for every such call that a backup makes, with the index of that call. */
async function* atEveryCall(
  isMeant: (call: DiskCall) => boolean = () => true,
): AsyncGenerator<{ machine: World; index: number }> {
  const origin = await withLog()
  const image = origin.disk.snapshot()
  const rehearsal = origin.with(SimulatedDisk.from(image))
  await backUp(rehearsal)
  for (const { index } of rehearsal.disk.calls.filter(isMeant)) {
    yield { machine: origin.with(SimulatedDisk.from(image)), index }
  }
}

function isSync({ kind, mode }: DiskCall): boolean {
  return kind === 'sync' || kind === 'syncDirectory' || (kind === 'write' && mode === 'durable')
}

t.test(
  'a power loss at any call leaves the whole copy or none, and the next one succeeds',
  async (t) => {
    for await (const { machine, index } of atEveryCall()) {
      const before = contentOf(machine.disk, directory)
      machine.disk.failCall(index, { kind: 'crash', when: index % 2 === 0 ? 'after' : 'before' })
      await rejection(backUp(machine))
      for (let variation = 0; variation < 2; variation++) {
        const random = new Random(index * 2 + variation)
        const survivor = machine.with(machine.disk.powerLoss({ random }))
        const what = `call ${index}, variation ${variation}`
        t.same(contentOf(survivor.disk, directory), before, what)
        if (filesUnder(survivor.disk, destination) === undefined) await backUp(survivor)
        await checkWhole(t, survivor, 11, 35, what)
        t.equal(filesUnder(survivor.disk, staged), undefined, what)
      }
    }
  },
)

t.test('a failure at any call is typed and leaves nothing under the name', async (t) => {
  for (const code of ['EIO', 'ENOSPC']) {
    for await (const { machine, index } of atEveryCall()) {
      const before = contentOf(machine.disk, directory)
      machine.disk.failCall(index, { kind: 'error', code })
      const what = `${code} at call ${index}`
      const refused = await rejection(backUp(machine))
      t.match(refused ?? 'WAL_', /^WAL_/, what)
      t.same(contentOf(machine.disk, directory), before, what)
      if (refused === undefined) await checkWhole(t, machine, 11, 35, what)
      else t.equal(filesUnder(machine.disk, '/backups'), undefined, what)
    }
  }
})

/** Once the copy has its name, a disk that is dead cannot take it back: then it is whole. */
async function checkAbsentOrWhole(t: Test, machine: World, what: string): Promise<void> {
  machine.disk.heal()
  if (filesUnder(machine.disk, destination) !== undefined) {
    await checkWhole(t, machine, 11, 35, what)
  }
}

t.test('a disk that fails and stays so leaves nothing, or the whole copy', async (t) => {
  for await (const { machine, index } of atEveryCall()) {
    machine.disk.failCall(index, { kind: 'error', code: 'EIO', times: 'forever' })
    t.match((await rejection(backUp(machine))) ?? 'WAL_', /^WAL_/)
    await checkAbsentOrWhole(t, machine, `call ${index}`)
  }
})

t.test('a sync that fails is not believed, whatever it brought to the medium', async (t) => {
  for (const model of ['clean-page', 'reverted', 'dead'] as const) {
    for await (const { machine, index } of atEveryCall(isSync)) {
      machine.disk.failCall(index, { kind: 'failed-sync', model })
      t.match(await rejection(backUp(machine)), /^WAL_/, `${model} at call ${index}`)
      await checkAbsentOrWhole(t, machine, `${model} at call ${index}`)
      if (model === 'dead') continue
      t.equal(filesUnder(machine.disk, destination), undefined)
    }
  }
})

t.test('a full disk is typed, and leaves the room that it took', async (t) => {
  const world = await withLog()
  const { usedBytes } = world.disk
  world.disk.setCapacity(usedBytes + 4096)
  t.equal(await rejection(backUp(world)), 'WAL_NO_SPACE')
  t.equal(world.disk.usedBytes, usedBytes)
  t.equal(filesUnder(world.disk, '/backups'), undefined)
})

t.test('where nothing may be written that is told, by the name of the destination', async (t) => {
  for (const code of ['EACCES', 'EPERM', 'EROFS']) {
    const world = await withLog()
    const isMade = ({ kind, path }: DiskCall) => kind === 'createDirectory' && path === staged
    world.disk.failWhen(isMade, { kind: 'error', code })
    const message = new RegExp(`^${destination} cannot be made \\(${code}\\)`)
    await t.rejects(backUp(world), { code: 'WAL_READ_ONLY', message })
    t.equal(filesUnder(world.disk, '/backups'), undefined)
  }
})

t.test('a file that ends while it is copied makes no shorter copy', async (t) => {
  const world = await withLog()
  const sealed = world.path(world.segments()[1]!)
  const shrunk = withFileMethods(world.disk, (file, path) => ({
    read: (into, position) =>
      file.read(path === sealed ? into.subarray(0, Math.max(0, 1000 - position)) : into, position),
  }))
  const refused = { code: 'WAL_COPY_FAILED', message: /what is copied ends at byte 1000/ }
  await t.rejects(backUp(world, { disk: shrunk }), refused)
  t.equal(filesUnder(world.disk, '/backups'), undefined)
})

/** The most that any file had taken when it was synced, and since. */
function unsyncedBytesMax(calls: readonly DiskCall[]): number {
  const unsynced = new Map<string, number>()
  let most = 0
  for (const { kind, path, bytes = 0 } of calls) {
    if (kind === 'sync') unsynced.delete(path)
    if (kind !== 'write') continue
    unsynced.set(path, (unsynced.get(path) ?? 0) + bytes)
    most = Math.max(most, unsynced.get(path) ?? 0)
  }
  return most
}

t.test(
  'a large checkpoint and its copy are made durable in pieces, beside which others can commit',
  async (t) => {
    const mib = 1024 * 1024
    const world = new World()
    const log = await world.open()
    await appendOneByOne(log, 3)
    await log.roll()
    const before = world.disk.callCount
    await log.writeCheckpoint(3, Array(35).fill(new Uint8Array(mib / 2).fill(7)))
    const written = world.disk.callCount
    t.ok(unsyncedBytesMax(world.disk.calls.slice(before)) < 2 * mib, 'a checkpoint')
    await backUp(world)
    const most = unsyncedBytesMax(world.disk.calls.slice(written))
    t.ok(most > 7 * mib && most < 10 * mib, `its copy: ${most} bytes`)
    t.match(await verifyLog(destination, { disk: world.disk }), { goodCheckpoints: [3] })
    await log.close()
  },
)

/** A disk that turns over one bit of all that is written into the copy, counted over its writes. */
function flipping(world: World, bit: number) {
  let passed = 0
  const write = (bytes: Uint8Array) => {
    const own = bit - passed
    passed += 8 * bytes.length
    if (own < 0 || own >= 8 * bytes.length) return bytes
    const changed = bytes.slice()
    changed[own >> 3]! ^= 1 << (own & 7)
    return changed
  }
  const disk = withFileMethods(world.disk, (file, path) => ({
    write: (bytes, position) =>
      file.write(path.startsWith(staged) ? write(bytes) : bytes, position),
  }))
  return { disk, written: () => passed }
}

t.test('a bit that is flipped in the copy is noticed, or means nothing', async (t) => {
  const origin = await withLog()
  const rehearsal = flipping(origin.copy(), -1)
  await backUp(origin.copy(), { disk: rehearsal.disk })
  let noticed = 0
  let harmless = 0
  for (let bit = 3; bit < rehearsal.written(); bit += 509) {
    const machine = origin.copy()
    const refused = await rejection(backUp(machine, { disk: flipping(machine, bit).disk }))
    if (refused === undefined) {
      harmless++
      await checkWhole(t, machine, 11, 35, `bit ${bit}`)
    } else {
      noticed++
      t.equal(refused, 'WAL_COPY_FAILED', `bit ${bit}`)
      t.equal(filesUnder(machine.disk, '/backups'), undefined, `bit ${bit}`)
    }
  }
  t.ok(noticed > harmless && noticed > 50, `${noticed} noticed, ${harmless} harmless`)
})

t.test('a copy that ends too early, or where something follows its end, is noticed', async (t) => {
  const origin = await withLog()
  const first = origin.copy()
  await backUp(first)
  const newest = filesUnder(first.disk, destination)!.findLast((path) => path.endsWith('.wal'))!
  const whole = first.disk.readFile(newest)
  const end = whole.findLastIndex((byte) => byte !== 0) + 1
  const changes = [
    ...range(0, end - 600).map((lost) => (bytes: Uint8Array) => bytes.fill(0, end - lost)),
    (bytes: Uint8Array) => bytes.fill(1, bytes.length - 1),
  ].slice(1)
  const unnoticed: unknown[] = []
  for (const [index, change] of changes.entries()) {
    const machine = origin.copy()
    const name = newest.slice(destination.length)
    const disk = withFileMethods(machine.disk, (file, path) => ({
      async sync() {
        // Behind the back of whoever wrote it.
        if (path === staged + name) await file.write(change(whole.slice()), 0)
        await file.sync()
      },
    }))
    const refused = await rejection(backUp(machine, { disk }))
    if (refused !== 'WAL_COPY_FAILED') unnoticed.push([index, refused])
  }
  t.same(unnoticed, [])
})

t.test('damage in the log itself is refused, and named', async (t) => {
  for (const name of ['sealed', 'newest', 'HEAD'] as const) {
    const world = await withLog()
    const [, second, newest] = world.segments()
    const file = { sealed: second!, newest: newest!, HEAD: 'HEAD' }[name]
    if (name === 'HEAD') world.disk.removeFile(world.path(file))
    else world.disk.flipBit(world.path(file), 8 * 700)
    const { damage, historyDamage } = await world.verify()
    const found = damage ?? historyDamage[0]
    const refused: unknown = await backUp(world).catch((error: unknown) => error)
    t.ok(refused instanceof WalDamageError, name)
    t.match(refused, { damage: { file: found!.file } }, name)
    t.equal(filesUnder(world.disk, '/backups'), undefined)
  }
})

t.test('damage that a checkpoint covers is refused, and no loss to accept is named', async (t) => {
  const world = await withLog()
  const [oldest = ''] = world.segments()
  world.disk.flipBit(world.path(oldest), 8 * 700)
  const [covered] = (await world.verify()).historyDamage
  t.match(covered, { file: oldest })
  const refused: unknown = await backUp(world).catch((error: unknown) => error)
  t.match(refused, { code: 'WAL_CORRUPT', damage: covered, message: /covers them/ })
  t.notMatch((refused as Error).message, /acceptLoss/)
  t.equal(filesUnder(world.disk, '/backups'), undefined)
})

t.test(
  'a checkpoint that is bad in the log is told of and left out, and no reason to have no backup',
  async (t) => {
    for (const lsn of [30, 20]) {
      const world = await withLog()
      const path = `checkpoint/00000000000000${lsn}.ckpt`
      world.disk.flipBit(world.path(path), 8 * 600)
      const log = contentOf(world.disk, directory)
      const { badCheckpoints, checkpoints, bytes } = await backUp(world)
      t.match({ badCheckpoints, checkpoints }, { checkpoints: 2, badCheckpoints: [{ lsn }] })
      t.same(contentOf(world.disk, directory), log, 'it stays in the log as it is')
      t.notOk(filesUnder(world.disk, destination)?.includes(`${destination}/${path}`))
      await checkWhole(t, world, 11, 35)

      // In one that was made otherwise there may be one all the same.
      world.disk.writeFile(`${destination}/${path}`, world.disk.readFile(world.path(path)))
      const restored = await restore(world, '/data/restored')
      t.match(restored, { checkpoints: 2, badCheckpoints: [{ lsn }], bytes })
      const found = await verifyLog('/data/restored', { disk: world.disk })
      t.same([found.badCheckpoints, found.damage], [[], undefined])
    }
  },
)

t.test('a bad checkpoint without which records are missing is damage', async (t) => {
  const world = await withLog()
  for (const lsn of [10, 20, 30]) {
    world.disk.flipBit(world.path(`checkpoint/00000000000000${lsn}.ckpt`), 8 * 600)
  }
  t.equal(await rejection(backUp(world)), 'WAL_CORRUPT')
  t.equal(filesUnder(world.disk, '/backups'), undefined)
})

t.test('nothing is put where something is', async (t) => {
  const world = await withLog()
  const { disk } = world
  await disk.createDirectory('/backups/empty')
  disk.writeFile('/backups/full/mine', Buffer.from('mine'))
  disk.writeFile('/backups/file', Buffer.from('mine'))
  disk.writeFile('/backups/begun.copying/mine', Buffer.from('mine'))
  const to = (place: string) => rejection(backupLog(directory, place, { disk }))
  const before = contentOf(disk, '/')
  const taken = ['/backups/full', '/backups/file', '/backups/begun']
  const within = [directory, `${directory}/`, `${directory}/wal`, `${directory}/../log/backup`]
  for (const place of [...taken, ...within]) t.equal(await to(place), 'WAL_BAD_DESTINATION', place)
  t.same(contentOf(disk, '/'), before)
  t.equal(await to('/backups/empty'), undefined, 'an empty directory is taken')
  t.equal(await to('/backups/empty'), 'WAL_BAD_DESTINATION', 'but not twice')
})

t.test('two who copy to the same place are kept apart', async (t) => {
  const world = await withLog()
  let second: string | undefined
  const disk = steppedDisk(world.disk, async () => {
    if (second !== undefined || !world.disk.files().some((path) => path.endsWith('.ckpt'))) return
    if (filesUnder(world.disk, `${staged}/wal`) === undefined) return
    second = ''
    second = await rejection(backUp(world, { disk: world.disk.process() }))
  })
  await backUp(world, { disk })
  t.equal(second, 'WAL_LOCKED')
  await checkWhole(t, world, 11, 35)
})

t.test('one who copies there and has not said who it is yet is left alone, too', async (t) => {
  const world = await withLog()
  await world.disk.createDirectory(staged)
  await world.disk.process().lock(`${staged}/LOCK`, '')
  const refused = { code: 'WAL_LOCKED', message: /being written by another process/ }
  await t.rejects(backUp(world), refused)
})

t.test('where there is no log there is nothing to back up', async (t) => {
  const world = new World()
  t.equal(await rejection(backUp(world)), 'WAL_NOT_A_LOG')
  world.disk.writeFile(world.path('notes'), Buffer.from('mine'))
  t.equal(await rejection(backUp(world)), 'WAL_NOT_A_LOG')
  t.equal(filesUnder(world.disk, '/backups'), undefined)
})
