import { type DiskCall, Random, SimulatedDisk } from '@tenure/testing'
import t from 'tap'
import { readUint64, viewOf } from '../src/format/bytes.js'
import { type AcceptedLoss, diagnoseLog, type Log, openReadOnly } from '../src/index.js'
import {
  appendOneByOne,
  directory,
  forkHistory,
  outcomeOf,
  range,
  rejection,
  replayedLsns,
  World,
  withFileMethods,
} from './world.js'

/** A log with three sealed segments and a checkpoint at the end of each. */
async function withCheckpoints(): Promise<{ world: World; lsns: number[] }> {
  const world = new World()
  const log = await world.open()
  const lsns: number[] = []
  for (let round = 0; round < 3; round++) {
    await appendOneByOne(log, 10)
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, chunksOf(log.sealedLsn))
    lsns.push(log.sealedLsn)
  }
  await appendOneByOne(log, 5)
  await log.close()
  return { world, lsns }
}

function chunksOf(lsn: number): Uint8Array[] {
  return [Buffer.from(`state after ${lsn}`), new Uint8Array(3000), new Uint8Array(0)]
}

async function stateOf(log: { readCheckpoint(): AsyncIterable<Uint8Array> }): Promise<string[]> {
  const chunks: string[] = []
  for await (const chunk of log.readCheckpoint()) chunks.push(Buffer.from(chunk).toString())
  return chunks
}

async function firstReadable(world: World): Promise<number> {
  const reader = await openReadOnly(directory, { disk: world.disk })
  return reader.firstLsn
}

t.test('a checkpoint reads back chunk by chunk, and replay continues after it', async (t) => {
  const { world } = await withCheckpoints()
  const log = await world.open()
  t.equal(log.checkpointLsn, 30)
  t.same(
    await stateOf(log),
    chunksOf(30).map((chunk) => Buffer.from(chunk).toString()),
  )
  t.same(await replayedLsns(t, log), range(31, 35))
  t.same(await replayedLsns(t, log, 1), range(1, 35), 'the whole log is still there')
  await log.close()
})

t.test("a checkpoint's chunks can come from an async iterable", async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 3)
  await log.roll()
  await log.writeCheckpoint(
    3,
    (async function* () {
      yield Buffer.from('one')
      yield Buffer.from('two')
    })(),
  )
  t.same(await stateOf(log), ['one', 'two'])
  await log.close()
})

t.test('a log without a checkpoint has checkpointLsn 0 and no chunks', async (t) => {
  const world = new World()
  const log = await world.open()
  t.equal(log.checkpointLsn, 0)
  t.equal(log.sealedLsn, 0)
  t.same(await stateOf(log), [])
  const reader = await openReadOnly(directory, { disk: world.disk })
  t.same(await stateOf(reader), [])
  await log.close()
})

t.test('a checkpoint is accepted only at the end of a sealed segment', async (t) => {
  const log = await new World().open()
  await appendOneByOne(log, 3)
  for (const lsn of [0, 1, 3, 4]) {
    t.equal(await rejection(log.writeCheckpoint(lsn, [])), 'WAL_BAD_CHECKPOINT')
  }
  await log.roll()
  for (const lsn of [0, 1, 2, 4]) {
    t.equal(await rejection(log.writeCheckpoint(lsn, [])), 'WAL_BAD_CHECKPOINT')
  }
  await log.writeCheckpoint(3, [])
  t.equal(log.checkpointLsn, 3)
  await log.roll()
  t.equal(log.sealedLsn, 3, 'an empty segment is not sealed')
  await log.close()
})

t.test('truncate removes only what the older of two good checkpoints covers', async (t) => {
  const { world, lsns } = await withCheckpoints()
  const log = await world.open()
  const removed = await log.truncate()
  t.equal(removed.checkpoints, 1)
  t.ok(removed.segments > 0 && removed.bytes > 0)
  t.equal(log.firstLsn, (lsns[1] ?? 0) + 1)
  t.same(
    world.files().filter((name) => name.endsWith('.ckpt')),
    ['checkpoint/0000000000000020.ckpt', 'checkpoint/0000000000000030.ckpt'],
  )
  t.equal(await rejection(replayedLsns(t, log, 20)), 'WAL_FORGOTTEN')
  t.same(await replayedLsns(t, log, 21), range(21, 35))
  t.same(await log.truncate(), { segments: 0, bytes: 0, checkpoints: 0 })
  await log.close()
  const again = await world.open()
  t.equal(again.nextLsn, 36)
  t.same(await replayedLsns(t, again), range(31, 35))
  await again.close()
})

t.test('with a single checkpoint nothing is removed', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 5)
  await log.roll()
  await log.writeCheckpoint(5, [])
  t.same(await log.truncate(), { segments: 0, bytes: 0, checkpoints: 0 })
  await log.close()
})

t.test('truncate keeps the records from keepFromLsn on', async (t) => {
  const { world } = await withCheckpoints()
  const log = await world.open()
  await log.truncate({ keepFromLsn: 15 })
  t.same(await replayedLsns(t, log, 11), range(11, 35))
  t.ok(log.firstLsn <= 11)
  await log.close()
})

t.test(
  'a damaged checkpoint is reported, the older one is used, and nothing is removed because of it',
  async (t) => {
    const { world } = await withCheckpoints()
    const newest = world.path('checkpoint/0000000000000030.ckpt')
    const { length } = world.disk.readFile(newest)
    for (let bit = 0; bit < length * 8; bit += 61) {
      const flipped = world.copy()
      flipped.disk.flipBit(newest, bit)
      const log = await flipped.open()
      if (log.checkpointLsn !== 20) {
        // Padding between batches has no meaning.
        t.same(
          await stateOf(log),
          chunksOf(30).map((chunk) => Buffer.from(chunk).toString()),
        )
      } else {
        t.same(
          log.recovery.badCheckpoints.map((it) => it.lsn),
          [30],
        )
        await log.truncate()
        t.ok(flipped.disk.files().includes(newest))
      }
      t.same((await replayedLsns(t, log)).at(-1), 35)
      await log.close()
    }
  },
)

t.test('every truncation of a checkpoint is noticed', async (t) => {
  const { world } = await withCheckpoints()
  const newest = world.path('checkpoint/0000000000000030.ckpt')
  const { length } = world.disk.readFile(newest)
  for (let size = 0; size < length; size += 7) {
    const cut = world.copy()
    cut.disk.truncateFile(newest, size)
    const log = await cut.open()
    if (log.checkpointLsn !== 20) t.fail(`cut to ${size} bytes`)
    await log.close()
  }
})

t.test(
  'without a good checkpoint the whole log is replayed; without its start it is rejected',
  async (t) => {
    const { world } = await withCheckpoints()
    for (const isTruncated of [false, true]) {
      if (isTruncated) {
        const log = await world.open()
        await log.truncate()
        await log.close()
      }
      const poorer = world.copy()
      for (const name of poorer.files().filter((it) => it.endsWith('.ckpt'))) {
        poorer.disk.removeFile(poorer.path(name))
      }
      const outcome = await outcomeOf(t, poorer)
      t.same(outcome, isTruncated ? { refused: 'WAL_CORRUPT' } : { lsns: range(1, 35) })
    }
  },
)

t.test('a checkpoint that disappears while others are read is not an error', async (t) => {
  const { world } = await withCheckpoints()
  const { disk } = world
  let log: Log | undefined
  const whoMoves = {
    ...withFileMethods(disk, () => ({})),
    async list(path: string) {
      const names = await disk.list(path)
      if (log !== undefined && names.includes('0000000000000020.ckpt')) {
        disk.removeFile(world.path('checkpoint/0000000000000020.ckpt'))
      }
      return names
    },
  }
  log = await world.open({ disk: whoMoves })
  t.match(await log.truncate(), { checkpoints: 0 })
  t.equal(log.firstLsn, 11, 'after the older of the two remaining ones')
  await log.close()
})

t.test('a checkpoint of a fork of the log is not used', async (t) => {
  const { world } = await withCheckpoints()
  const other = new World()
  const log = await other.open({ randomBytes: (count) => new Uint8Array(count).fill(9) })
  await appendOneByOne(log, 30)
  await log.roll()
  await log.writeCheckpoint(log.sealedLsn, [])
  await log.close()
  const name = 'checkpoint/0000000000000030.ckpt'
  world.disk.writeFile(world.path(name), other.disk.readFile(other.path(name)))
  const reopened = await world.open()
  t.equal(reopened.checkpointLsn, 20)
  t.same(reopened.recovery.badCheckpoints.length, 1)
  await reopened.close()
})

t.test('a checkpoint ahead of the log is damage', async (t) => {
  const { world } = await withCheckpoints()
  const poorer = world.copy()
  for (const name of poorer.segments()) poorer.disk.removeFile(poorer.path(name))
  await t.rejects(poorer.open(), { code: 'WAL_CORRUPT' })
  const acceptLoss = (await poorer.verify()).damage?.acceptable
  if (acceptLoss === undefined) throw new Error('the loss cannot be accepted')
  const log = await poorer.open({ acceptLoss })
  t.equal(log.checkpointLsn, 30)
  const next = log.nextLsn
  await appendOneByOne(log, 2)
  await log.close()
  const again = await poorer.open()
  t.same(await replayedLsns(t, again), [next, next + 1])
  await again.close()
})

t.test('of several damages the first one is reported', async (t) => {
  const { world } = await withCheckpoints()
  const [, second = '', third = '', newest = ''] = world.segments()
  world.disk.flipBit(world.path(second), 20 * 8)
  for (const name of [third, newest]) world.disk.removeFile(world.path(name))
  // The checkpoint is also ahead of what is left.
  const { damage } = await world.verify()
  t.match(damage, { file: second, firstMissingLsn: 11, acceptable: { segment: 1 } })
})

t.test('a failed checkpoint leaves the older one, and the log open', async (t) => {
  const { world } = await withCheckpoints()
  const log = await world.open()
  await appendOneByOne(log, 3)
  await log.roll()
  world.disk.failWhen((call) => call.kind === 'write' && call.path.includes('.ckpt'), {
    kind: 'error',
    code: 'ENOSPC',
  })
  t.equal(await rejection(log.writeCheckpoint(log.sealedLsn, chunksOf(38))), 'WAL_NO_SPACE')
  t.notOk(world.files().some((name) => name.endsWith('.tmp') && name.includes('ckpt')))
  t.equal(log.checkpointLsn, 30)
  await appendOneByOne(log, 1)
  await log.writeCheckpoint(log.sealedLsn, chunksOf(38))
  t.equal(log.checkpointLsn, 38)
  await log.close()
})

t.test('a chunk that is too large is rejected with its size, and leaves nothing', async (t) => {
  const { world } = await withCheckpoints()
  const log = await world.open()
  await appendOneByOne(log, 3)
  await log.roll()
  const chunks = [Buffer.from('state'), new Uint8Array(2 ** 24)]
  await t.rejects(log.writeCheckpoint(log.sealedLsn, chunks), {
    code: 'WAL_RECORD_TOO_LARGE',
    message: /16777216 bytes; the maximum is 16777215/,
  })
  t.notOk(world.files().some((name) => name.endsWith('.tmp') && name.includes('ckpt')))
  t.equal(log.checkpointLsn, 30)
  await log.writeCheckpoint(log.sealedLsn, chunks.slice(0, 1))
  t.same(await stateOf(log), ['state'])
  await log.close()
})

t.test('a reader sees the checkpoint of a running writer', async (t) => {
  const { world } = await withCheckpoints()
  const reader = await openReadOnly(directory, { disk: world.disk, clock: world.clock })
  t.equal(reader.checkpointLsn, 30)
  t.equal((await stateOf(reader))[0], 'state after 30')
  t.same(await replayedLsns(t, reader), range(31, 35))
})

t.test('a reader can read every remaining checkpoint', async (t) => {
  const { world } = await withCheckpoints()
  const reader = await openReadOnly(directory, { disk: world.disk, clock: world.clock })
  t.same(reader.checkpoints, [30, 20, 10])
  const older: string[] = []
  for await (const chunk of reader.readCheckpoint(20)) older.push(Buffer.from(chunk).toString())
  t.equal(older[0], 'state after 20')
  t.equal((await stateOf(reader))[0], 'state after 30')
})

t.test(
  'damage that a checkpoint covers does not prevent an open; it is reported, and truncation after another checkpoint removes it',
  async (t) => {
    const { world } = await withCheckpoints()
    const [oldest = ''] = world.segments()
    world.disk.flipBit(world.path(oldest), (512 + 64 + 10) * 8)
    const { damage, historyDamage } = await world.verify()
    t.equal(damage, undefined)
    const [covered, ...others] = historyDamage
    t.same(others, [])
    t.match(covered, { kind: 'corrupt', file: oldest, firstMissingLsn: 1, coveredBy: 30 })
    t.notOk(covered && 'acceptable' in covered, 'there is no loss to accept')
    t.equal((await diagnoseLog(directory, { disk: world.disk })).damage, undefined)

    const reader = await openReadOnly(directory, { disk: world.disk, clock: world.clock })
    await t.rejects(replayedLsns(t, reader, 1), {
      code: 'WAL_CORRUPT',
      damage: { firstMissingLsn: 1, lastMissingLsn: covered!.lastMissingLsn, coveredBy: 30 },
    })
    const behind = covered!.lastMissingLsn + 1
    t.same(await replayedLsns(t, reader, behind), range(behind, 35))

    const log = await world.open()
    await appendOneByOne(log, 1)
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, chunksOf(log.sealedLsn))
    t.ok((await log.truncate()).segments > 0)
    await log.close()
    t.match(await world.verify(), { damage: undefined, historyDamage: [] })
  },
)

t.test('two histories in the covered part are reported and do not prevent an open', async (t) => {
  const { world, usurper } = await forkHistory()
  await usurper.roll()
  await usurper.writeCheckpoint(usurper.sealedLsn, [])
  await appendOneByOne(usurper, 1)
  await usurper.close()
  const { damage, historyDamage } = await world.verify()
  t.equal(damage, undefined)
  t.match(historyDamage, [
    {
      file: world.segments()[0],
      firstMissingLsn: 1,
      lastMissingLsn: 2,
      coveredBy: 3,
      why: /^two histories: this segment continues to .* LSN 4, but segment 2 of epoch 2 records/,
    },
  ])
  t.equal(historyDamage.length, 1)
  const log = await world.open()
  t.same(await replayedLsns(t, log), [4])
  await log.close()
})

t.test(
  'two histories that fork where the checkpoint ends are rejected, because it covers neither',
  async (t) => {
    const world = new World(new SimulatedDisk({ locks: false }))
    const zombie = await world.open({ disk: world.disk.process() })
    await appendOneByOne(zombie, 2)
    const usurper = await world.open()
    await usurper.writeCheckpoint(usurper.sealedLsn, [])
    await appendOneByOne(usurper, 1)
    const before = world.copy()
    await appendOneByOne(zombie, 2)
    await usurper.close()
    const told =
      /^two histories: this segment continues to .* LSN 4, but segment 2 of epoch 2 records/
    const { damage, historyDamage } = await world.verify()
    t.match(damage, { file: world.segments()[0], firstMissingLsn: 3, why: told })
    t.same(historyDamage, [])
    await t.rejects(world.open(), { code: 'WAL_CORRUPT', damage })
    const accepted = await world.open({ acceptLoss: damage?.acceptable as AcceptedLoss })
    t.same(await replayedLsns(t, accepted), [])
    t.equal(accepted.checkpointLsn, 2)
    await accepted.close()

    const log = await before.open()
    t.same(await replayedLsns(t, log), [3], 'a fork without records is ignored')
    await log.close()
  },
)

function firstLsnIn(world: World, name: string): number {
  return readUint64(viewOf(world.disk.readFile(world.path(name))), 48)
}

t.test('a log opens if nothing can be read after the end that a checkpoint covers', async (t) => {
  const { world, lsns } = await withCheckpoints()
  const [, , newest] = lsns
  const name = world.segments().findLast((path) => firstLsnIn(world, path) <= newest!)!
  for (const code of ['EIO', undefined]) {
    const copy = world.copy()
    const disk = withFileMethods(copy.disk, (file, path) => ({
      read: async (into: Uint8Array, position: number) => {
        const isAim = path === copy.path(name) && position > 512
        if (isAim) throw Object.assign(new Error('as planned'), code && { code })
        return file.read(into, position)
      },
    }))
    const opening = copy.open({ disk })
    if (code === undefined) await t.rejects(opening, { message: 'as planned' })
    else {
      const log = await opening
      t.equal((await replayedLsns(t, log)).length, 5)
      await log.close()
    }
  }
})

t.test(
  'a missing segment that a checkpoint covers is reported, and nothing is removed because of it',
  async (t) => {
    const { world } = await withCheckpoints()
    const second = world.segments()[1] ?? ''
    world.disk.removeFile(world.path(second))
    const before = world.segments()
    t.equal((await world.verify()).strandedSegments.length, 1)
    const log = await world.open()
    t.equal(log.recovery.strandedSegments.length, 1)
    t.same((await replayedLsns(t, log)).at(-1), 35)
    await log.truncate()
    await log.close()
    t.ok(world.segments().includes(before[0] ?? ''))
  },
)

t.test(
  'checkpoints and truncations run one at a time, close waits for them, and none runs after it',
  async (t) => {
    const { world } = await withCheckpoints()
    const log = await world.open()
    await appendOneByOne(log, 5)
    await log.roll()
    const both = Promise.all([
      log.truncate(),
      log.writeCheckpoint(log.sealedLsn, chunksOf(40)),
      log.truncate(),
      log.truncate(),
    ])
    await log.close()
    const [first, , second, third] = await both
    t.ok(first.segments > 0 && second.segments > 0)
    t.equal(third.segments, 0)
    t.equal(await rejection(log.truncate()), 'WAL_CLOSED')
    t.equal(await rejection(log.writeCheckpoint(40, [])), 'WAL_CLOSED')
    t.equal(await rejection(replayedLsns(t, log)), 'WAL_CLOSED')
    t.equal(await rejection(stateOf(log)), 'WAL_CLOSED')
  },
)

t.test('a replay whose records are truncated fails with WAL_FORGOTTEN', async (t) => {
  const { world } = await withCheckpoints()
  const log = await world.open()
  const runs = log.replay({ fromLsn: 1 })
  await runs.next()
  await log.truncate()
  t.equal(await rejection(runs.next()), 'WAL_FORGOTTEN')
  await log.close()
})

/** The segments and checkpoints. Spares come and go in the background. */
function lastingFiles(world: World): string[] {
  const isLasting = (name: string) => world.isNeeded(name) || name.startsWith('checkpoint/')
  return world.files().filter(isLasting)
}

/** The disk calls of a truncation of such a log, and the files that it leaves. */
async function rehearseTruncation(world: World) {
  const rehearsal = world.with(SimulatedDisk.from(world.disk.snapshot()))
  const log = await rehearsal.open()
  const from = rehearsal.disk.callCount
  await log.truncate()
  const calls = range(from, rehearsal.disk.callCount - 1)
  const left = lastingFiles(rehearsal)
  await log.close()
  return { calls, left }
}

t.test('a crash at any call of a truncation leaves no hole', async (t) => {
  const { world } = await withCheckpoints()
  const { calls } = await rehearseTruncation(world)
  for (const index of calls) {
    const machine = world.copy()
    const crashing = await machine.open()
    machine.disk.failCall(index, { kind: 'crash', when: 'after' })
    await rejection(crashing.truncate())
    for (let variation = 0; variation < 4; variation++) {
      const random = new Random(index * 4 + variation)
      const survivor = machine.with(machine.disk.powerLoss({ random }))
      const report = await survivor.verify()
      t.equal(report.damage, undefined)
      t.same(report.strandedSegments, [])
    }
  }
})

t.test(
  'a crash at any call of a truncation leaves no hole, even when the newest checkpoint is lost later',
  async (t) => {
    const { world } = await withCheckpoints()
    const { calls } = await rehearseTruncation(world)
    for (const index of calls) {
      const machine = world.copy()
      const crashing = await machine.open()
      machine.disk.failCall(index, { kind: 'crash', when: 'after' })
      await rejection(crashing.truncate())
      const survivor = machine.with(machine.disk.powerLoss('keep-all'))
      const newest = survivor.files().findLast((name) => name.endsWith('.ckpt'))
      survivor.disk.flipBit(survivor.path(newest!), 8 * 100)
      const { historyDamage, badCheckpoints } = await survivor.verify()
      t.match(badCheckpoints, [{}])
      t.same(historyDamage, [], `after call ${index}`)
    }
  },
)

t.test('the next truncation completes one that failed at any call', async (t) => {
  const { world } = await withCheckpoints()
  const { calls, left } = await rehearseTruncation(world)
  for (const index of calls) {
    const machine = world.copy()
    const failing = await machine.open()
    machine.disk.failCall(index, { kind: 'error', code: 'EIO' })
    await rejection(failing.truncate())
    t.equal(failing.firstLsn, await firstReadable(machine), `after call ${index}`)
    await failing.truncate()
    t.same(lastingFiles(machine), left, `after call ${index}, and once more`)
    await failing.close()
  }
})

t.test('truncate continues if a segment has already been removed', async (t) => {
  const { world } = await withCheckpoints()
  const log = await world.open()
  const [first] = world.disk.files().filter((path) => path.endsWith('.wal'))
  await world.disk.remove(first!)
  const { segments } = await log.truncate()
  t.equal(segments, 2)
  t.equal(log.firstLsn, await firstReadable(world))
  await log.close()
})

t.test('keepFromLsn is exact to the record', async (t) => {
  const { world } = await withCheckpoints()
  for (const [keepFromLsn, firstLsn] of [
    [10, 1],
    [11, 11],
    [20, 11],
    [21, 21],
  ] as const) {
    const log = await world.with(SimulatedDisk.from(world.disk.snapshot())).open()
    await log.truncate({ keepFromLsn })
    t.equal(log.firstLsn, firstLsn, `from ${keepFromLsn}`)
    await log.close()
  }
})

t.test('a checkpoint that reads back differently does not count', async (t) => {
  const { world } = await withCheckpoints()
  const log = await world.open()
  await appendOneByOne(log, 3)
  await log.roll()
  const isReadBack = (call: DiskCall) => call.kind === 'read' && call.path.endsWith('.ckpt.tmp')
  world.disk.failWhen(isReadBack, { kind: 'error', code: 'EIO' })
  t.ok(await rejection(log.writeCheckpoint(log.sealedLsn, chunksOf(38))))
  t.equal(log.checkpointLsn, 30)
  t.notOk(world.files().some((name) => name.includes('0038.ckpt')))
  await log.close()
})

t.test('a checkpoint with bytes after its end, or under another name, is not used', async (t) => {
  const { world } = await withCheckpoints()
  const newest = world.path('checkpoint/0000000000000030.ckpt')
  const longer = world.copy()
  longer.disk.writeFile(newest, Buffer.concat([world.disk.readFile(newest), new Uint8Array(8)]))
  const renamed = world.copy()
  renamed.disk.renameFile(newest, world.path('checkpoint/0000000000000031.ckpt'))
  for (const machine of [longer, renamed]) {
    const log = await machine.open()
    t.equal(log.checkpointLsn, 20)
    t.equal(log.recovery.badCheckpoints.length, 1)
    await log.truncate()
    t.equal(log.firstLsn, 11, 'only good ones are counted')
    await log.close()
  }
})

t.test('a checkpoint from before a fork of the log is not used', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 10)
  const fork = world.copy()
  await appendOneByOne(log, 10)
  await log.roll()
  await log.writeCheckpoint(20, chunksOf(20))
  await log.close()
  const other = await fork.open()
  await other.append(
    11,
    range(1, 10).map(() => Buffer.from('another')),
  )
  await other.roll()
  await other.close()
  const name = 'checkpoint/0000000000000020.ckpt'
  await fork.disk.createDirectory(fork.path('checkpoint'))
  fork.disk.writeFile(fork.path(name), world.disk.readFile(world.path(name)))
  const report = await fork.verify()
  t.same(report.goodCheckpoints, [])
  t.equal(report.badCheckpoints.length, 1)
})

t.test(
  'a checkpoint ahead of its segment is damage, and recovery does not restart before it',
  async (t) => {
    const world = new World()
    const log = await world.open()
    await appendOneByOne(log, 3)
    const copy = world.copy()
    await appendOneByOne(log, 7)
    await log.roll()
    await log.writeCheckpoint(10, chunksOf(10))
    await log.close()
    const name = 'checkpoint/0000000000000010.ckpt'
    await copy.disk.createDirectory(copy.path('checkpoint'))
    copy.disk.writeFile(copy.path(name), world.disk.readFile(world.path(name)))
    await t.rejects(copy.open(), {
      code: 'WAL_CORRUPT',
      message: /after LSN 10, but the log ends at LSN 3/,
    })
    const acceptLoss = (await copy.verify()).damage?.acceptable as AcceptedLoss
    const opened = await copy.open({ acceptLoss })
    const next = opened.nextLsn
    t.ok(next > 10)
    await appendOneByOne(opened, 2)
    await opened.close()
    const again = await copy.open()
    t.equal(again.checkpointLsn, 10)
    t.same(await replayedLsns(t, again), [next, next + 1])
    await again.close()
  },
)

t.test('truncate ignores checkpoints of another log', async (t) => {
  const { world } = await withCheckpoints()
  const other = new World()
  const foreign = await other.open({ randomBytes: (count) => new Uint8Array(count).fill(9) })
  for (let round = 0; round < 3; round++) {
    await appendOneByOne(foreign, 10)
    await foreign.roll()
    await foreign.writeCheckpoint(foreign.sealedLsn, [])
  }
  for (const lsn of [20, 30]) {
    const name = `checkpoint/00000000000000${lsn}.ckpt`
    world.disk.writeFile(world.path(name), other.disk.readFile(other.path(name)))
  }
  const log = await world.open()
  t.equal(log.checkpointLsn, 10)
  t.same(await log.truncate(), { segments: 0, bytes: 0, checkpoints: 0 })
  await log.close()
  t.same(await outcomeOf(t, world), { lsns: range(11, 35) })
})

t.test('a checkpoint with an unreadable sector is bad, wherever the sector is', async (t) => {
  for (const isAt of [(at: number) => at < 512, (at: number) => at >= 512]) {
    const { world } = await withCheckpoints()
    const isBad = (call: DiskCall) =>
      call.kind === 'read' && call.path.endsWith('0030.ckpt') && isAt(call.position ?? 0)
    world.disk.failWhen(isBad, { kind: 'error', code: 'EIO', times: 'forever' })
    const log = await world.open()
    t.equal(log.checkpointLsn, 20)
    t.equal(log.recovery.badCheckpoints.length, 1)
    await log.close()
  }
})

t.test('a chunk that is not bytes is rejected, and the checkpoint does not count', async (t) => {
  const log = await new World().open()
  await appendOneByOne(log, 3)
  await log.roll()
  for (const wrong of ['state', ['state'], [7], Buffer.from('state')]) {
    t.equal(await rejection(log.writeCheckpoint(3, wrong as never)), 'WAL_BAD_RECORD')
  }
  t.equal(log.checkpointLsn, 0)
  await log.close()
})
