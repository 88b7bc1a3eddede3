import { type DiskCall, SimulatedDisk, subsets } from '@tenure/testing'
import t, { type Test } from 'tap'
import { decodeFileHeader } from '../src/format/file-header.js'
import { backupLog, diagnoseLog, type Log, type LogOptions, openReadOnly } from '../src/index.js'
import { backUp, destination, hastyClock, steppedDisk } from './copies.js'
import {
  appendOneByOne,
  directory,
  outcomeOf,
  type Readable,
  range,
  recordOf,
  rejection,
  replayedLsns,
  World,
  withFileMethods,
  worldThatHolds,
} from './world.js'

/** Rolls, makes a checkpoint, and truncates, so that the segments before become spares. */
async function rollAndTruncate(log: Log): Promise<void> {
  await log.roll()
  await log.writeCheckpoint(log.sealedLsn, [Buffer.from(`the state after ${log.sealedLsn}`)])
  await log.truncate()
}

/** A log whose current segment, and the one after it, lie in files that were segments before. */
async function recycledLog(options: LogOptions = {}): Promise<{ world: World; log: Log }> {
  const world = new World()
  const log = await world.openWithSpare(options)
  // Two segments with the same batches at the same places as those that will follow.
  for (let round = 0; round < 6; round++) {
    await appendOneByOne(log, 11)
    await rollAndTruncate(log)
    await world.clock.settle()
  }
  return { world, log }
}

function filledWithZeros(world: World, since: number): DiskCall[] {
  return world.disk.calls.filter(
    ({ index, kind, path }) => index >= since && kind === 'rename' && /spare.*tmp$/.test(path),
  )
}

/** The newest segment that has begun. */
function newest(world: World): string {
  return world.segments().at(-1) ?? ''
}

t.test('in steady state every segment lies in a file that was one before', async (t) => {
  const { world, log } = await recycledLog()
  const since = world.disk.callCount
  for (let round = 0; round < 10; round++) {
    await appendOneByOne(log, 11)
    await rollAndTruncate(log)
    await world.clock.settle()
  }
  t.same(filledWithZeros(world, since), [])
  t.same(
    world.disk.calls.filter(
      ({ index, kind, path }) => index >= since && kind === 'remove' && path.includes('/wal/'),
    ),
    [],
  )
  await appendOneByOne(log, 5)
  const reopened = await world.with(world.disk.powerLoss('keep-none')).open()
  t.same(await replayedLsns(t, reopened), range(log.sealedLsn + 1, log.durableLsn))
})

t.test('a truncation keeps as many files as the log has used since the last one', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  for (let segment = 0; segment < 5; segment++) {
    await appendOneByOne(log, 11)
    await log.roll()
    await world.clock.settle()
    if (segment >= 3) await log.writeCheckpoint(log.sealedLsn, [])
  }
  await log.truncate()
  const spares = () => world.files().filter((name) => name.includes('spare')).length
  t.equal(spares(), 4, 'it used five, and had four to keep')
  await appendOneByOne(log, 11)
  await log.roll()
  await log.writeCheckpoint(log.sealedLsn, [])
  await world.clock.settle()
  await log.truncate()
  t.equal(spares(), 3, 'of four it used one, and kept none')
  await log.close()
})

t.test('after a restart the spares of the last epoch are used', async (t) => {
  const { world, log } = await recycledLog()
  await log.close()
  const since = world.disk.callCount
  const again = await world.openWithSpare()
  t.same(filledWithZeros(world, since), [])
  await appendOneByOne(again, 3)
  await again.roll()
  await appendOneByOne(again, 3)
  t.equal((await world.verify()).damage, undefined)
  await again.close()
})

t.test('a spare that has the number of a segment is not overwritten', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  const fill = async (log: Log, segments: number) => {
    for (let segment = 1; segment <= segments; segment++) {
      await appendOneByOne(log, 11)
      await log.roll()
      await world.clock.settle()
      if (segment >= segments - 1) await log.writeCheckpoint(log.sealedLsn, [])
    }
    await log.truncate()
    await world.clock.settle()
  }
  await fill(log, 6)
  // The file that was prepared as segment 8 becomes a spare. The next open begins a segment 8.
  await log.close()
  const again = await world.openWithSpare()
  await fill(again, 4)
  await fill(again, 8)
  t.equal(await rejection(again.close()), undefined)
  t.equal((await world.verify()).damage, undefined)
})

t.test('an open that was interrupted while it renamed spares is repeated', async (t) => {
  const { world, log } = await recycledLog()
  await appendOneByOne(log, 11)
  await rollAndTruncate(log)
  await log.close()
  const [name = ''] = world.files().filter((file) => file.includes('spare-00000001'))
  const spare = world.disk.readFile(world.path(name))
  world.disk.writeFile(world.path(name.replace('spare-00000001', 'spare-00000002')), spare)
  const again = await world.openWithSpare()
  await appendOneByOne(again, 40)
  t.equal(await rejection(again.close()), undefined)
})

t.test(
  'a last batch over old content is there completely or not at all, whichever sectors arrive',
  async (t) => {
    let cases = 0
    for (const sizes of [[100], [700], [900], [1, 0, 500], [200, 200, 200, 200, 100]]) {
      for (const before of [0, 1, 2, 3]) {
        const { world, log } = await recycledLog()
        await appendOneByOne(log, before)
        const first = log.nextLsn
        world.disk.failWhen(({ kind }) => kind === 'writeOnLoop', { kind: 'crash', when: 'before' })
        const records = sizes.map((size) => new Uint8Array(size))
        t.equal(await rejection(log.append(first, records)), 'WAL_FAILED')
        const sectors = world.disk
          .pending()
          .flatMap((change, index) => (change.kind === 'sector' ? [index] : []))
        for (const isKept of subsets(sectors.length)) {
          const keep = (_: unknown, index: number) => isKept(sectors.indexOf(index))
          const survivor = world.with(world.disk.powerLoss({ keep }))
          const reopened = await survivor.open()
          const found = reopened.nextLsn - first
          if (found !== 0 && found !== records.length) t.fail(`${found} of ${records.length}`)
          await appendOneByOne(reopened, 2)
          await reopened.close()
          t.equal((await survivor.open()).durableLsn, first + found + 1)
          cases++
        }
      }
    }
    t.comment(`${cases} sets of sectors`)
    t.ok(cases > 80)
  },
)

t.test('every single-bit flip of a recycled segment is rejected or loses nothing', async (t) => {
  const { world, log } = await recycledLog()
  await appendOneByOne(log, 6)
  const crashed = world.with(world.disk.powerLoss('keep-all'))
  const expected = range(log.sealedLsn + 1, log.durableLsn)
  const copy = crashed.copier()
  const name = newest(crashed)
  const bytes = crashed.disk.readFile(crashed.path(name))
  const { usedBytes } = log.segments.at(-1)!
  t.ok(
    bytes.subarray(usedBytes + 512).some((byte) => byte !== 0),
    'old content follows',
  )
  const seen = new Map<string, number>()
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = copy()
    flipped.disk.flipBit(flipped.path(name), bit)
    const outcome = await outcomeOf(t, flipped)
    const what = 'refused' in outcome ? outcome.refused : 'whole'
    seen.set(what, (seen.get(what) ?? 0) + 1)
    if ('lsns' in outcome && outcome.lsns.length !== expected.length)
      t.same(outcome.lsns, expected, `bit ${bit}`)
  }
  t.comment([...seen].map(([what, count]) => `${count} ${what}`).join(', '))
  t.ok((seen.get('WAL_CORRUPT') ?? 0) > 0 && (seen.get('whole') ?? 0) > 0)
})

t.test('an older sector over acknowledged data is noticed, except in the last batch', async (t) => {
  const { world, log } = await recycledLog()
  const name = newest(world)
  const old = world.copy()
  await appendOneByOne(log, 16)
  await world.clock.advance(100)
  const { usedBytes } = log.segments.at(-1)!
  const lastSector = Math.floor(usedBytes / 512)
  const crashed = world.with(world.disk.powerLoss('keep-all'))
  const lsns = range(log.sealedLsn + 1, log.durableLsn)
  let noticed = 0
  for (let sector = 1; sector < lastSector; sector++) {
    const patched = crashed.copy()
    const bytes = Buffer.from(patched.disk.readFile(patched.path(name)))
    const former = old.disk.readFile(old.path(name))
    bytes.set(former.subarray(sector * 512, (sector + 1) * 512), sector * 512)
    patched.disk.writeFile(patched.path(name), bytes)
    t.same(await outcomeOf(t, patched), { refused: 'WAL_CORRUPT' }, `sector ${sector}`)
    noticed++
  }
  t.ok(noticed >= 3, `${noticed} sectors`)
  t.same(await outcomeOf(t, crashed), { lsns })
})

t.test(
  'a segment that was once valid at the same place under the same log id is rejected',
  async (t) => {
    const { world, log } = await recycledLog()
    await appendOneByOne(log, 11)
    const former = world.copy()
    const formerName = newest(former)
    await rollAndTruncate(log)
    await appendOneByOne(log, 11)
    await rollAndTruncate(log)
    await appendOneByOne(log, 4)
    t.notOk(world.segments().includes(formerName))
    const crashed = world.with(world.disk.powerLoss('keep-all'))
    const name = newest(crashed)
    // The whole file, only its header, and everything but its header.
    const old = former.disk.readFile(former.path(formerName))
    const now = crashed.disk.readFile(crashed.path(name))
    for (const mixed of [
      old,
      Buffer.concat([old.subarray(0, 512), now.subarray(512)]),
      Buffer.concat([now.subarray(0, 512), old.subarray(512)]),
    ]) {
      const patched = crashed.copy()
      patched.disk.writeFile(patched.path(name), mixed)
      const outcome = await outcomeOf(t, patched)
      // Old content after a valid header is what a file contains when a segment begins there.
      const isEmpty = Buffer.compare(mixed.subarray(0, 512), now.subarray(0, 512)) === 0
      t.same(outcome, isEmpty ? { lsns: [] } : { refused: 'WAL_CORRUPT' })
    }
  },
)

t.test('a power loss at any call of a log that recycles loses nothing', async (t) => {
  const { world, log } = await recycledLog()
  await log.close()
  const life = async (machine: World, acknowledged: { lsn: number }) => {
    const opened = await machine.openWithSpare()
    for (let round = 0; round < 2; round++) {
      for (let count = 0; count < 5; count++) acknowledged.lsn = await appendOneByOne(opened, 1)
      await rollAndTruncate(opened)
      await machine.clock.settle()
    }
    await opened.close()
  }
  const rehearsal = world.with(SimulatedDisk.from(world.disk.snapshot()))
  await life(rehearsal, { lsn: 0 })
  let cases = 0
  for (let index = 0; index < rehearsal.disk.callCount; index++) {
    for (const [when, policy] of [
      ['before', 'keep-all'],
      ['after', 'keep-none'],
      ['before', { random: { next: Math.random } }],
    ] as const) {
      const machine = world.with(SimulatedDisk.from(world.disk.snapshot()))
      machine.disk.failCall(index, { kind: 'crash', when })
      const acknowledged = { lsn: 0 }
      await Promise.race([rejection(life(machine, acknowledged)), crashOf(machine)])
      const survivor = machine.with(machine.disk.powerLoss(policy))
      const reopened = await survivor.open()
      const lsns = await replayedLsns(t, reopened)
      if (reopened.durableLsn < acknowledged.lsn) t.fail(`call ${index}: ${acknowledged.lsn} lost`)
      if (lsns.length !== reopened.durableLsn - reopened.checkpointLsn) t.fail(`call ${index}`)
      await reopened.close()
      t.equal((await survivor.verify()).damage, undefined, `call ${index}, ${when}`)
      cases++
    }
  }
  t.ok(cases > 200, `${cases} cases`)
})

/** Resolves after the machine has lost power and its calls no longer return. */
async function crashOf({ disk, clock }: World): Promise<void> {
  for (let calls = -1; calls !== disk.callCount; ) {
    calls = disk.callCount
    await clock.settle()
  }
}

t.test('a file is used again only after its removal is durable', async (t) => {
  const isOfSegments = ({ kind, path }: DiskCall) => kind === 'syncDirectory' && /wal$/.test(path)
  const { world, state, held, release } = worldThatHolds(isOfSegments)
  const log = await world.openWithSpare()
  for (let segment = 1; segment <= 3; segment++) {
    await appendOneByOne(log, 11)
    // For a checkpoint, but for no other segment: the log waits for the file of a removed one.
    if (segment === 3) world.disk.setCapacity(world.disk.usedBytes + 2048)
    await log.roll()
    await world.clock.settle()
    if (segment > 1) await log.writeCheckpoint(log.sealedLsn, [Buffer.from('state')])
  }
  const removed = world.segments()[0] ?? ''
  state.isHolding = true
  const truncating = log.truncate()
  await world.clock.settle()
  // The first sync is before any removal.
  held.shift()?.()
  await world.clock.settle()
  t.notOk(world.files().includes(removed))
  t.equal(held.length, 1, 'the sync of its removal is in progress')
  const lost = world.with(world.copy().disk.powerLoss('keep-none'))
  t.ok(lost.segments().includes(removed), 'it has come back with its header')
  t.match(await lost.verify(), { damage: undefined, historyDamage: [] })
  release()
  await truncating
  await log.close()
})

t.test('a file that HEAD does not name yet is no damage, whatever it contains', async (t) => {
  const { world, log } = await recycledLog()
  await appendOneByOne(log, 3)
  const expected = range(log.sealedLsn + 1, log.durableLsn)
  const crashed = world.with(world.disk.powerLoss('keep-all'))
  const [name = ''] = crashed.files().filter((file) => crashed.isPrepared(file))
  const old = crashed.disk.readFile(crashed.path(newest(crashed)))
  for (const content of [old, Buffer.alloc(4096, 7)]) {
    const survivor = crashed.copy()
    survivor.disk.writeFile(survivor.path(name), content)
    t.same(await outcomeOf(t, survivor), { lsns: expected })
    t.ok(survivor.files().includes(name.replace('wal/', 'quarantine/')))
    t.match(await survivor.verify(), { damage: undefined, historyDamage: [] })
  }
})

t.test('a file that HEAD does not name yet never takes the place of a new segment', async (t) => {
  const world = new World()
  await (await world.open()).close()
  // An open that was interrupted before HEAD, and whose file is damaged since.
  const name = 'wal/0000000000000002-00000002.wal'
  world.disk.writeFile(world.path(name), Buffer.alloc(4096, 7))
  const log = await world.open()
  await appendOneByOne(log, 3)
  t.same(await replayedLsns(t, log), range(1, 3))
  await log.close()
  t.ok(world.files().includes('quarantine/0000000000000002-00000002.wal'))
  t.same(await outcomeOf(t, world), { lsns: range(1, 3) })
})

// ---- readers of a segment whose file is used again

/** Fails unless a replay whose segments become others returns its own records, and then an error. */
async function replayThrough(t: Test, world: World, log: Log, readable: Readable, fromLsn: number) {
  const replay = readable.replay({ fromLsn })[Symbol.asyncIterator]()
  const lsns: number[] = []
  const read = async () => {
    const step = await replay.next()
    if (step.done === true) return false
    for (const [index, record] of step.value.records.entries()) {
      lsns.push(step.value.firstLsn + index)
      t.same(Buffer.from(record), recordOf(step.value.firstLsn + index))
    }
    return true
  }
  t.ok(await read())
  for (let round = 0; round < 4; round++) {
    await rollAndTruncate(log)
    await world.clock.settle()
    await appendOneByOne(log, 11)
  }
  const rest = async () => {
    while (await read()) {}
  }
  t.equal(await rejection(rest()), 'WAL_FORGOTTEN')
  t.same(lsns, range(fromLsn, fromLsn + lsns.length - 1))
}

t.test('a replay by another process never returns records of another segment', async (t) => {
  const { world, log } = await recycledLog()
  await appendOneByOne(log, 11)
  await log.roll()
  const reader = await openReadOnly(directory, { disk: smallReads(world), clock: world.clock })
  await replayThrough(t, world, log, reader, log.sealedLsn - 10)
  await log.close()
})

t.test('a replay of the open log never returns records of another segment', async (t) => {
  const recycled = await recycledLog()
  await recycled.log.close()
  const { world } = recycled
  const log = await world.openWithSpare({ disk: smallReads(world) })
  await appendOneByOne(log, 11)
  await log.roll()
  await replayThrough(t, world, log, log, log.sealedLsn - 10)
  await log.close()
})

/** The disk with reads of at most 600 bytes, so that a reader does not hold a whole segment. */
function smallReads({ disk }: World) {
  return withFileMethods(disk, (file) => ({
    read: (into: Uint8Array, position: number) => file.read(into.subarray(0, 600), position),
  }))
}

t.test('a backup pins what it copies, and nothing is used again meanwhile', async (t) => {
  const { world, log } = await recycledLog()
  await appendOneByOne(log, 11)
  await log.roll()
  await appendOneByOne(log, 3)
  const expected = range(log.firstLsn, log.durableLsn)
  let isDone = false
  // After the first segment was opened for copying, the log truncates it and goes on.
  const disk = withFileMethods(world.disk, (file, path) => ({
    pin: async () => {
      await file.pin()
      if (isDone || !path.startsWith(directory)) return
      isDone = true
      for (let round = 0; round < 3; round++) {
        await rollAndTruncate(log)
        await world.clock.settle()
        await appendOneByOne(log, 11)
      }
    },
  }))
  const backup = await backupLog(directory, destination, { disk, clock: hastyClock(world) })
  t.ok(isDone)
  t.ok(backup.lastLsn >= expected.at(-1)!)
  await log.close()
})

t.test('a pinned file is removed instead of used again', async (t) => {
  const { world, log } = await recycledLog()
  await appendOneByOne(log, 11)
  const name = newest(world)
  const file = await world.disk.open(world.path(name), 'read')
  await file.pin()
  const content = Buffer.from(world.disk.readFile(world.path(name)))
  for (let round = 0; round < 4; round++) {
    await rollAndTruncate(log)
    await world.clock.settle()
    await appendOneByOne(log, 11)
  }
  t.notOk(world.files().includes(name))
  const now = Buffer.alloc(content.length)
  await file.read(now, 0)
  t.equal(Buffer.compare(now.subarray(0, 512), content.subarray(0, 512)), 0, 'it has its header')
  await file.close()
  await log.close()
})

t.test('without pins, a backup notices that a file was used again', async (t) => {
  for (const which of ['the oldest', 'the newest'] as const) {
    const { world, log } = await recycledLog()
    await appendOneByOne(log, 11)
    const [oldest = ''] = world.segments()
    const meant = which === 'the oldest' ? oldest : newest(world)
    let isDone = false
    const disk = withFileMethods(world.disk, (_file, path) => ({
      pin: async () => {
        if (isDone || path !== world.path(meant)) return
        isDone = true
        for (let round = 0; round < 5; round++) {
          await rollAndTruncate(log)
          await world.clock.settle()
          await appendOneByOne(log, 11)
        }
      },
    }))
    const backup = await backupLog(directory, destination, { disk, clock: hastyClock(world) })
    t.ok(isDone)
    t.ok(backup.firstLsn > 1 && backup.lastLsn === log.durableLsn, `${which}: it started again`)
    await log.close()
  }
})

t.test('a truncation during any step of a backup leaves a whole backup', async (t) => {
  for (let at = 0; at < 60; at++) {
    const { world, log } = await recycledLog()
    await appendOneByOne(log, 11)
    await log.roll()
    await appendOneByOne(log, 3)
    let calls = 0
    const disk = steppedDisk(world.disk, async () => {
      if (calls++ !== at) return
      for (let round = 0; round < 3; round++) {
        await rollAndTruncate(log)
        await world.clock.settle()
        await appendOneByOne(log, 5)
      }
    })
    const { lastLsn } = await backUp(world, { disk })
    t.ok(lastLsn >= log.durableLsn - 15, `step ${at}`)
    await log.close()
  }
})

// ---- damage in recycled segments

t.test('what is cut off contains nothing of an earlier segment', async (t) => {
  const { world, log } = await recycledLog()
  await appendOneByOne(log, 2)
  const first = log.nextLsn
  world.disk.failWhen(({ kind }) => kind === 'writeOnLoop', { kind: 'crash', when: 'before' })
  await rejection(log.append(first, new Uint8Array(900).fill(7)))
  const sectors = world.disk
    .pending()
    .flatMap((change, index) => (change.kind === 'sector' ? [index] : []))
  t.ok(sectors.length >= 3)
  const survivor = world.with(
    world.disk.powerLoss({ keep: (_, index) => index === sectors[0] || index === sectors.at(-1) }),
  )
  const reopened = await survivor.open()
  t.equal(reopened.nextLsn, first)
  const [tail = ''] = survivor.files().filter((name) => name.startsWith('quarantine/'))
  const kept = Buffer.from(survivor.disk.readFile(survivor.path(tail))).toString('latin1')
  t.notOk(kept.includes('record'), 'the text of every earlier record')
  t.ok(kept.includes('\x07'))
  await reopened.close()
})

t.test('the records of a recycled segment with a damaged header are found', async (t) => {
  const { world, log } = await recycledLog()
  await appendOneByOne(log, 6)
  const { firstLsn } = log.segments.at(-1)!
  const crashed = world.with(world.disk.powerLoss('keep-all'))
  crashed.disk.flipBit(crashed.path(newest(crashed)), 8 * 100)
  const diagnosis = await diagnoseLog(directory, { disk: crashed.disk })
  t.match(diagnosis.damage, { why: 'its header fails its checksum' })
  const found: number[] = []
  for await (const batch of diagnosis.salvagedBatches()) found.push(batch.firstLsn)
  t.same(found, range(firstLsn, log.durableLsn))
})

t.test('a diagnosis finds no batch of an earlier segment', async (t) => {
  const { world, log } = await recycledLog()
  await log.roll()
  const crashed = world.with(world.disk.powerLoss('keep-all'))
  crashed.disk.flipBit(crashed.path(newest(crashed)), 8 * 100)
  const diagnosis = await diagnoseLog(directory, { disk: crashed.disk })
  t.match(diagnosis.damage, { why: 'its header fails its checksum' })
  for await (const batch of diagnosis.salvagedBatches()) t.fail(`LSN ${batch.firstLsn}`)
})

t.test('a diagnosis takes no checkpoint for a segment', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 3)
  await log.roll()
  await log.writeCheckpoint(3, [Buffer.from('one'), Buffer.from('two')])
  await log.close()
  const [checkpoint = ''] = world.files().filter((file) => file.endsWith('.ckpt'))
  const [first = ''] = world.segments()
  world.disk.swapFiles(world.path(checkpoint), world.path(first))
  const diagnosis = await diagnoseLog(directory, { disk: world.disk })
  t.ok(diagnosis.cutOff.some(({ file }) => file === first))
  for await (const batch of diagnosis.salvagedBatches()) t.fail(`LSN ${batch.firstLsn}`)
})

t.test('a recycled file is durably cleared before it has the name of a segment', async (t) => {
  const { world } = await recycledLog()
  const prepared = world.files().filter((name) => world.isPrepared(name))
  t.equal(prepared.length, 1)
  const [name = ''] = prepared
  const lost = world.with(world.disk.powerLoss('keep-none'))
  t.ok(lost.isPrepared(name))
  const content = lost.disk.readFile(lost.path(name)).subarray(512)
  t.ok(
    content.some((byte) => byte !== 0),
    'it was a segment before',
  )
  t.equal(
    decodeFileHeader(lost.disk.readFile(lost.path(name)), 'segment', name),
    'it does not start with the magic of a segment',
  )
})

// ---- space

t.test('with spares the log is not short of space until it uses the last one', async (t) => {
  const { world, log } = await recycledLog()
  const spaceChanges: boolean[] = []
  await log.close()
  const again = await world.openWithSpare({
    observer: { spaceChanged: (isFull) => spaceChanges.push(isFull) },
  })
  world.disk.setCapacity(world.disk.usedBytes)
  const refused = await fill(again, world)
  t.equal(refused, 'WAL_NO_SPACE')
  t.same(spaceChanges, [true])
  // Truncation frees a file, which becomes the next segment immediately.
  world.disk.setCapacity(world.disk.usedBytes + 4096)
  await again.writeCheckpoint(again.sealedLsn, [])
  await again.writeCheckpoint(again.sealedLsn, []).catch(() => {})
  await again.truncate()
  await world.clock.settle()
  t.same(spaceChanges, [true, false])
  await appendOneByOne(again, 1)
  await again.close()
})

/** Appends with low urgency until the log refuses, and returns the code. */
async function fill(log: Log, { clock }: World): Promise<string> {
  for (;;) {
    try {
      const claim = log.claim(80, 'low')
      await log.append(log.nextLsn, new Uint8Array(80), claim)
      await clock.settle()
    } catch (error) {
      return (error as { code: string }).code
    }
  }
}

t.test('spares are given back when the disk gets short of space', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  for (let segment = 0; segment < 6; segment++) {
    await appendOneByOne(log, 11)
    await log.roll()
    await world.clock.settle()
    if (segment >= 4) await log.writeCheckpoint(log.sealedLsn, [])
  }
  await log.truncate()
  const spares = () => world.files().filter((name) => name.includes('spare')).length
  t.ok(spares() >= 4)
  world.disk.setCapacity(world.disk.usedBytes + 1024)
  await appendOneByOne(log, 1)
  await log.roll()
  await world.clock.settle()
  t.ok(spares() <= 1)
  await log.close()
})
