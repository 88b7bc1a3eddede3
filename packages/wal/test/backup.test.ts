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

t.test('a backup of a closed log equals the log', async (t) => {
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

t.test('a backup is durable when the promise resolves', async (t) => {
  const world = await withLog()
  await backUp(world)
  await checkWhole(t, world.with(world.disk.powerLoss('keep-none')), 11, 35)
})

t.test('an empty log and a log that never rolled can be backed up', async (t) => {
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

t.test('a backup of a backup equals the log', async (t) => {
  const world = await withLog()
  const { bytes: _, ...first } = await backUp(world)
  const { disk } = world
  t.match(await backupLog(destination, '/backups/again', { disk }), first)
})

/** The steps of a busy writer. */
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

/** A disk for the copier. The writer does one step before every n-th call. */
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

t.test('a copy made during appends, rolls and truncations is a prefix of the log', async (t) => {
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

t.test('a copy is a prefix, whichever call the writer rolls and truncates at', async (t) => {
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

t.test('a backup fails with a code if truncation always removes the next file first', async (t) => {
  const world = await withLog()
  const log = await world.open()
  const before = besideWriter(world, log, 1, Number.POSITIVE_INFINITY)
  t.equal(await rejection(backUp(world, { disk: before })), 'WAL_OVERTAKEN')
  t.equal(filesUnder(world.disk, '/backups'), undefined)
  await log.close()
})

t.test('a backup waits for a batch that is half written', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 3)
  const path = world.path(world.segments().at(-1)!)
  const without = world.disk.readFile(path)
  await appendOneByOne(log, 1)
  const whole = world.disk.readFile(path)
  // Its last byte is missing, which no crash can cause.
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
  t.equal(await rejection(again), 'WAL_AMBIGUOUS', 'a lasting one is damage')
})

t.test('a torn tail is not copied, and the copy opens', async (t) => {
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

/** Yields a machine for every such call of a backup, with the index of the call. */
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
  'a power loss at any call leaves a complete copy or none, and the next backup succeeds',
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

t.test('a failure at any call has a code and leaves nothing at the destination', async (t) => {
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

/** A dead disk cannot undo the last rename. In that case the copy is complete. */
async function checkAbsentOrWhole(t: Test, machine: World, what: string): Promise<void> {
  machine.disk.heal()
  if (filesUnder(machine.disk, destination) !== undefined) {
    await checkWhole(t, machine, 11, 35, what)
  }
}

t.test('a disk that fails for good leaves a complete copy or none', async (t) => {
  for await (const { machine, index } of atEveryCall()) {
    machine.disk.failCall(index, { kind: 'error', code: 'EIO', times: 'forever' })
    t.match((await rejection(backUp(machine))) ?? 'WAL_', /^WAL_/)
    await checkAbsentOrWhole(t, machine, `call ${index}`)
  }
})

t.test('a failed sync fails the backup, whatever reached the medium', async (t) => {
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

t.test('a full disk fails the backup with a code, and its space is freed', async (t) => {
  const world = await withLog()
  const { usedBytes } = world.disk
  world.disk.setCapacity(usedBytes + 4096)
  t.equal(await rejection(backUp(world)), 'WAL_NO_SPACE')
  t.equal(world.disk.usedBytes, usedBytes)
  t.equal(filesUnder(world.disk, '/backups'), undefined)
})

t.test('a destination without write permission is named in the error', async (t) => {
  for (const code of ['EACCES', 'EPERM', 'EROFS']) {
    const world = await withLog()
    const isMade = ({ kind, path }: DiskCall) => kind === 'createDirectory' && path === staged
    world.disk.failWhen(isMade, { kind: 'error', code })
    const message = new RegExp(`^${destination} is not writable \\(${code}\\)`)
    await t.rejects(backUp(world), { code: 'WAL_READ_ONLY', message })
    t.equal(filesUnder(world.disk, '/backups'), undefined)
  }
})

t.test('a file that ends early fails the backup', async (t) => {
  const world = await withLog()
  const sealed = world.path(world.segments()[1]!)
  const shrunk = withFileMethods(world.disk, (file, path) => ({
    read: (into, position) =>
      file.read(path === sealed ? into.subarray(0, Math.max(0, 1000 - position)) : into, position),
  }))
  const refused = {
    code: 'WAL_COPY_FAILED',
    message: /the source file ended at byte 1000 instead of byte \d+ or later/,
  }
  await t.rejects(backUp(world, { disk: shrunk }), refused)
  t.equal(filesUnder(world.disk, '/backups'), undefined)
})

/** The most bytes that any file had received since its last sync. */
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

t.test('a large checkpoint and its copy are synced in pieces', async (t) => {
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
})

/** A disk that flips one bit, counted over all bytes written to the copy. */
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

t.test('a flipped bit in the copy is noticed, unless it has no meaning', async (t) => {
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

t.test('a copy that is too short or too long is noticed', async (t) => {
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
        // After the copier has closed it.
        if (path === staged + name) await file.write(change(whole.slice()), 0)
        await file.sync()
      },
    }))
    const refused = await rejection(backUp(machine, { disk }))
    if (refused !== 'WAL_COPY_FAILED') unnoticed.push([index, refused])
  }
  t.same(unnoticed, [])
})

t.test('a damaged log is rejected with the place of the damage', async (t) => {
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

t.test('damage that a checkpoint covers is rejected, without a loss to accept', async (t) => {
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

t.test('a bad checkpoint is reported and not copied, and the backup succeeds', async (t) => {
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

    // A backup made by other means may contain one.
    world.disk.writeFile(`${destination}/${path}`, world.disk.readFile(world.path(path)))
    const restored = await restore(world, '/data/restored')
    t.match(restored, { checkpoints: 2, badCheckpoints: [{ lsn }], bytes })
    const found = await verifyLog('/data/restored', { disk: world.disk })
    t.same([found.badCheckpoints, found.damage], [[], undefined])
  }
})

t.test('a bad checkpoint is damage if records are missing without it', async (t) => {
  const world = await withLog()
  for (const lsn of [10, 20, 30]) {
    world.disk.flipBit(world.path(`checkpoint/00000000000000${lsn}.ckpt`), 8 * 600)
  }
  t.equal(await rejection(backUp(world)), 'WAL_CORRUPT')
  t.equal(filesUnder(world.disk, '/backups'), undefined)
})

t.test('a backup rejects a destination that is not empty', async (t) => {
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

t.test('two concurrent backups to one destination do not mix', async (t) => {
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

t.test('a backup respects a lock that has no holder name yet', async (t) => {
  const world = await withLog()
  await world.disk.createDirectory(staged)
  await world.disk.process().lock(`${staged}/LOCK`, '')
  const refused = { code: 'WAL_LOCKED', message: /being written by another process/ }
  await t.rejects(backUp(world), refused)
})

t.test('a directory without a log cannot be backed up', async (t) => {
  const world = new World()
  t.equal(await rejection(backUp(world)), 'WAL_NOT_A_LOG')
  world.disk.writeFile(world.path('notes'), Buffer.from('mine'))
  t.equal(await rejection(backUp(world)), 'WAL_NOT_A_LOG')
  t.equal(filesUnder(world.disk, '/backups'), undefined)
})
