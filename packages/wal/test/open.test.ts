import { readdirSync, readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { type DiskCall, SimulatedDisk } from '@tenure/testing'
import t from 'tap'
import { nextBatchOffset } from '../src/format/batch.js'
import { batchHeaderBytes, recordHeaderBytes } from '../src/format/limits.js'
import { type Log, nodeDisk, openReadOnly } from '../src/index.js'
import { steppedDisk } from './copies.js'
import {
  appendOneByOne,
  appendTogether,
  codeOf,
  directory,
  forkHistory,
  lineAt,
  range,
  recordOf,
  rejection,
  replayedLsns,
  World,
  withFileMethods,
} from './world.js'

t.test('opening a missing directory creates a log', async (t) => {
  const world = new World()
  const log = await world.open()
  t.equal(log.recovery.epoch, 1)
  t.equal(log.nextLsn, 1)
  t.equal(log.durableLsn, 0)
  t.same(await replayedLsns(t, log), [])
  await log.close()
})

t.test(
  'every open starts a new epoch and a new segment, and continues with the next LSN',
  async (t) => {
    const world = new World()
    for (const epoch of [1, 2, 3]) {
      const log = await world.open()
      t.equal(log.recovery.epoch, epoch)
      t.equal(log.nextLsn, epoch * 2 - 1)
      await appendOneByOne(log, 2)
      await log.close()
    }
    t.same(world.segments(), [
      'wal/0000000000000001-00000001.wal',
      'wal/0000000000000002-00000002.wal',
      'wal/0000000000000003-00000003.wal',
    ])
  },
)

t.test('a log opened many times without an append stays undamaged', async (t) => {
  const world = new World()
  for (let epoch = 1; epoch <= 5; epoch++) await (await world.open()).close()
  const log = await world.open()
  t.equal(log.recovery.epoch, 6)
  await appendOneByOne(log, 1)
  t.same(await replayedLsns(t, log), [1])
  await log.close()
})

t.test(
  'replay yields the durable records from any LSN, in order, also while more are appended',
  async (t) => {
    const world = new World()
    const log = await world.open()
    await appendTogether(log, 10)
    await appendOneByOne(log, 40)
    for (const from of [1, 2, 7, 10, 11, 33, 50, 51]) {
      t.same(await replayedLsns(t, log, from), range(from, 50), `from ${from}`)
    }
    const replayed: number[] = []
    for await (const run of log.replay()) {
      replayed.push(...run.records.map((_, index) => run.firstLsn + index))
      await appendOneByOne(log, 5)
    }
    t.same(replayed, range(1, 50), 'the records that were durable when it started')
    await log.close()
  },
)

t.test(
  'a torn write at the end is cut off, kept in quarantine, and never comes back',
  async (t) => {
    const world = new World()
    const log = await world.open()
    await appendOneByOne(log, 3)
    world.disk.failWhen((call) => call.kind.startsWith('write') && call.path.includes('.wal'), {
      kind: 'crash',
      when: 'before',
    })
    await rejection(appendTogether(log, 1))
    await rejection(
      Promise.all([log.append(4, new Uint8Array(700).fill(9)), log.append(5, recordOf(5))]),
    )
    // The last sectors arrive, but not the first one.
    const disk = world.disk.powerLoss({
      keep: (change) => change.kind !== 'sector' || change.sector > 1,
    })
    const survivor = world.with(disk)
    const reopened = await survivor.open()
    if (reopened.recovery.tornTail !== undefined) {
      t.ok(reopened.recovery.quarantinedBytes > 0)
      t.equal(survivor.files().filter((name) => name.startsWith('quarantine/')).length, 1)
    }
    t.same(await replayedLsns(t, reopened), range(1, reopened.durableLsn))
    const next = reopened.nextLsn
    await appendOneByOne(reopened, 3)
    await reopened.close()
    const third = await survivor.open()
    t.equal(third.recovery.tornTail, undefined)
    t.same(await replayedLsns(t, third), range(1, next + 2))
    await third.close()
  },
)

t.test('the error for a second process names the holder of the lock', async (t) => {
  const world = new World()
  const log = await world.open()
  const other = world.disk.process()
  await t.rejects(world.open({ disk: other }), {
    code: 'WAL_LOCKED',
    message: /in use by process \d+/,
  })
  await log.close()
  const taken = await world.open({ disk: other })
  t.equal(await rejection(world.open()), 'WAL_LOCKED')
  other.kill()
  const again = await world.open()
  t.equal(again.recovery.epoch, 3, 'the lock ends with the process')
  await again.close()
  t.ok(taken)
})

t.test('a lock counts even before its holder has written its name', async (t) => {
  const world = new World()
  await (await world.open()).close()
  const other = world.disk.process()
  await other.lock(world.path('LOCK'), '')
  await t.rejects(world.open(), { code: 'WAL_LOCKED', message: /in use by another process/ })
  other.kill()
  await (await world.open()).close()
})

t.test('without the lock, a superseded writer is fenced at its next roll', async (t) => {
  const world = new World(new SimulatedDisk({ locks: false }))
  const zombie = await world.open({ disk: world.disk.process() })
  await appendOneByOne(zombie, 2)
  const usurper = await world.open()
  await appendOneByOne(usurper, 2)
  const message = /^another process opened this log for writing \(epoch 2 after 1\), so this one/
  await t.rejects(zombie.roll(), { code: 'WAL_FENCED', message })
  t.equal(await rejection(zombie.append(3, recordOf(3))), 'WAL_FENCED')
  await zombie.close()
  await usurper.close()
  const log = await world.open()
  t.same(await replayedLsns(t, log), range(1, 4))
  await log.close()
})

t.test(
  'without the lock, an open is fenced if another process opens the log meanwhile',
  async (t) => {
    const world = new World(new SimulatedDisk({ locks: false }))
    await (await world.open()).close()
    let faster: Log | undefined
    const disk = {
      ...withFileMethods(world.disk.process(), () => ({})),
      freeBytes: async () => {
        faster ??= await world.open({ disk: world.disk.process() })
        return Number.POSITIVE_INFINITY
      },
    }
    await t.rejects(world.open({ disk }), {
      code: 'WAL_FENCED',
      message: /^another process created segment 2 with epoch 2 while/,
    })
    await appendOneByOne(faster!, 2)
    await faster!.close()
    const log = await world.open()
    t.same(await replayedLsns(t, log), [1, 2])
    await log.close()
  },
)

t.test('without the lock, two histories are rejected, and both are named', async (t) => {
  const { world, usurper } = await forkHistory()
  await usurper.close()
  await t.rejects(world.open(), {
    code: 'WAL_CORRUPT',
    message:
      /two histories: .* continues to byte \d+ and LSN 4, .* epoch 2 records that it ends at byte \d+ and LSN 2/,
  })
})

t.test('a directory with other content is rejected and not changed', async (t) => {
  const world = new World()
  await world.disk.createDirectory(directory)
  world.disk.writeFile(`${directory}/thesis.txt`, Buffer.from('do not touch'))
  await t.rejects(world.open(), { code: 'WAL_NOT_A_LOG', message: /thesis\.txt/ })
  await t.rejects(world.verify(), { code: 'WAL_NOT_A_LOG' })
  t.same(world.files(), ['thesis.txt'])
})

t.test('a directory without write permission is rejected with advice', async (t) => {
  for (const code of ['EACCES', 'EROFS', 'EPERM']) {
    const world = new World()
    await (await world.open()).close()
    world.disk.failWhen((call) => call.kind === 'lock', { kind: 'error', code })
    const wayOut = code === 'EROFS' ? 'Mount it read-write' : 'Run as a user with write permission'
    await t.rejects(world.open(), {
      code: 'WAL_READ_ONLY',
      message: `${directory} is not writable (${code}). ${wayOut}, or use openReadOnly.`,
    })
    const reader = await openReadOnly(directory, { disk: world.disk, clock: world.clock })
    t.same(await replayedLsns(t, reader), [], 'but it can be read')
  }
})

t.test('a log of a newer format is rejected with WAL_NEWER_FORMAT, not as damaged', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 1)
  await log.close()
  const { crc32 } = await import('node:zlib')
  for (const name of ['HEAD', world.segments()[0] ?? '']) {
    const newer = world.copy()
    const bytes = newer.disk.readFile(newer.path(name)).slice()
    const view = new DataView(bytes.buffer)
    // The first sequence is odd, so it is in the second sector of HEAD.
    const [at, end] = name === 'HEAD' ? [512, 512 + 56] : [0, 512]
    view.setUint32(at + 12, 2, true)
    view.setUint32(at + 8, crc32(bytes.subarray(at + 12, end)), true)
    newer.disk.writeFile(newer.path(name), bytes)
    await t.rejects(newer.open(), { code: 'WAL_NEWER_FORMAT', message: /format version 2/ })
    await t.rejects(newer.verify(), { code: 'WAL_NEWER_FORMAT' })
  }
})

t.test(
  'the first segment of an epoch is small, and later ones double up to the full size',
  async (t) => {
    const world = new World()
    const mib = 1024 * 1024
    const log = await world.open({ segmentBytes: 8 * mib, appendBytesMax: 512 * 1024 })
    const record = new Uint8Array(500 * 1024)
    const sizes: number[] = []
    for (let lsn = 1; lsn <= 60; lsn++) await log.append(lsn, record)
    for (const name of world.segments())
      sizes.push(world.disk.readFile(world.path(name)).length / mib)
    t.same(sizes, [1, 2, 4, 8, 8, 8])
    await log.close()
  },
)

/** How many files were filled with zeros since the call with this index. */
function zeroFilesSince(world: World, index: number): number {
  return world.disk.calls.filter(
    (call) => call.index >= index && call.kind === 'rename' && /spare.*tmp$/.test(call.path),
  ).length
}

t.test('a spare survives a restart and becomes the next segment', async (t) => {
  const world = new World()
  await (await world.openWithSpare()).close()
  t.ok(world.files().includes('wal/spare-00000001-0000000000000002'))
  const { callCount } = world.disk
  const log = await world.openWithSpare()
  t.equal(zeroFilesSince(world, callCount), 0)
  t.notOk(
    world.files().some((name) => name.includes('spare')),
    'it has the name of a segment',
  )
  await appendOneByOne(log, 60)
  t.same(await replayedLsns(t, log), range(1, 60))
  await log.close()
})

t.test('a prepared segment that a crash left is removed', async (t) => {
  const world = new World()
  await world.openWithSpare()
  t.ok(world.isPrepared('wal/0000000000000002-00000001.wal'))
  const survivor = world.with(world.disk.powerLoss('keep-all'))
  const { callCount } = survivor.disk
  const log = await survivor.openWithSpare()
  t.notOk(survivor.files().includes('wal/0000000000000002-00000001.wal'))
  t.equal(zeroFilesSince(survivor, callCount), 1)
  await log.close()
})

t.test(
  'data that was only in memory and is lost during the open does not become part of the log',
  async (t) => {
    const world = new World()
    const writer = world.disk.process()
    const log = await world.open({ disk: writer })
    await appendOneByOne(log, 2)
    const isAppend = ({ kind }: DiskCall) => kind === 'writeOnLoop'
    world.disk.failWhen(isAppend, { kind: 'failed-sync', model: 'clean-page' })
    t.equal(await rejection(log.append(3, recordOf(3))), 'WAL_FAILED')
    writer.kill()
    const seen = new Set<number | string>()
    let isOver = false
    for (let at = 0; !isOver; at++) {
      const machine = world.copy()
      let calls = 0
      const forgetful = steppedDisk(machine.disk, async () => {
        if (calls++ === at) machine.disk.dropCleanPages()
      })
      const opened = await machine.open({ disk: forgetful }).catch(codeOf)
      isOver = calls <= at
      seen.add(typeof opened === 'string' ? opened : opened.durableLsn)
      const found = typeof opened === 'string' ? 2 : opened.durableLsn
      // It reports the same again, even without the data in memory.
      const later = machine.with(machine.disk.powerLoss('keep-none'))
      const again = await later.open()
      t.same(await replayedLsns(t, again), range(1, found), `memory runs short at call ${at}`)
      await again.close()
    }
    t.same(seen, new Set([2, 'WAL_FAILED', 3]))
  },
)

t.test('unfinished files of a crash are removed', async (t) => {
  const world = new World()
  await (await world.open()).close()
  world.disk.writeFile(world.path('wal/spare-00000007-0000000000000007.tmp'), new Uint8Array(100))
  world.disk.writeFile(world.path('checkpoint/0000000000000001.ckpt.tmp'), new Uint8Array(100))
  const log = await world.open()
  t.notOk(world.files().some((name) => name.includes('00000007') || name.endsWith('ckpt.tmp')))
  await log.close()
})

t.test(
  'a restored copy continues after a declared gap, so that no LSN is issued twice',
  async (t) => {
    const world = new World()
    const log = await world.open()
    await appendOneByOne(log, 3)
    const backup = world.copy()
    await appendOneByOne(log, 3)
    await log.close()
    const far = backup.copy()
    const restored = await backup.open({ restored: { nextLsn: 100 } })
    t.equal(restored.nextLsn, 100)
    await appendOneByOne(restored, 2)
    t.same(await replayedLsns(t, restored), [1, 2, 3, 100, 101])
    t.same(restored.gaps, [{ firstLsn: 4, lastLsn: 99, reason: 'restored' }])
    await restored.close()
    const again = await backup.open()
    t.same(again.gaps, [{ firstLsn: 4, lastLsn: 99, reason: 'restored' }])
    t.equal(again.nextLsn, 102)
    await again.close()
    t.same((await backup.verify()).gaps.length, 1)

    await t.rejects(far.copy().open({ restored: { nextLsn: 3 } }), { code: 'WAL_BAD_OPTION' })
    const beyond = await far.open({ restored: true })
    t.equal(beyond.nextLsn, lineAt(backup))
    await beyond.close()
  },
)

t.test('acceptLoss on an undamaged log is rejected', async (t) => {
  const world = new World()
  await (await world.open()).close()
  const acceptLoss = { segment: 1, offset: 512 }
  await t.rejects(world.open({ acceptLoss }), { code: 'WAL_BAD_OPTION', message: /not damaged/ })
})

t.test('restored.nextLsn sets the first LSN, even of an empty log', async (t) => {
  const world = new World()
  const log = await world.open({ restored: { nextLsn: 5000 } })
  t.equal(log.nextLsn, 5000)
  t.same(log.gaps, [{ firstLsn: 1, lastLsn: 4999, reason: 'restored' }])
  await appendOneByOne(log, 2)
  t.same(await replayedLsns(t, log), [5000, 5001])
  await log.close()
  const again = await world.open()
  t.equal(again.nextLsn, 5002)
  await again.close()
})

t.test('a failed open closes every file and releases the lock', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 3)
  await log.close()
  const rehearsal = world.with(SimulatedDisk.from(world.disk.snapshot()))
  await rehearsal.open()
  const calls = rehearsal.disk.callCount
  for (let index = 0; index < calls; index++) {
    const machine = world.with(SimulatedDisk.from(world.disk.snapshot()))
    machine.disk.failWhen((call) => call.index === index && call.kind !== 'close', {
      kind: 'error',
      code: 'EIO',
    })
    const code = await rejection(machine.open())
    if (code === undefined) continue
    const count = (kind: string) => machine.disk.calls.filter((it) => it.kind === kind).length
    const failed = machine.disk.calls[index]?.kind === 'open' ? 1 : 0
    t.equal(
      count('close'),
      count('open') - failed,
      `${machine.disk.calls[index]?.kind} at call ${index}`,
    )
    const isLocked = machine.disk.calls[index]?.kind !== 'lock'
    if (isLocked && count('lock') > 0) t.equal(count('release'), 1)
  }
})

t.test('records acknowledged after an interrupted open survive a power loss', async (t) => {
  let calls = 0
  for (const fault of [
    { kind: 'error', code: 'EIO' },
    { kind: 'kill', when: 'after' },
  ] as const) {
    for (let call = 0; ; call++, calls++) {
      const world = new World()
      const first = world.disk.process()
      const planned = world.disk.failCall(call, fault)
      const opened = world.open({ disk: first }).catch(() => {})
      await Promise.race([opened, first.whenKilled()])
      if (planned.hits === 0) break
      first.kill()
      const log = await world.open()
      const lsn = await appendOneByOne(log, 1)
      const later = world.with(world.disk.powerLoss('keep-none'))
      const again = await later.open()
      t.equal(again.nextLsn, lsn + 1, `${fault.kind} at call ${call}`)
      await again.close()
    }
  }
  t.ok(calls > 40)
})

t.test('a spare is used again only if it is large enough', async (t) => {
  for (const [size, isUsed] of [
    [2048, false],
    [4096, true],
  ] as const) {
    const world = new World()
    await (await world.openWithSpare()).close()
    const [spare = ''] = world.files().filter((name) => name.includes('spare'))
    world.disk.truncateFile(world.path(spare), size)
    const { callCount } = world.disk
    const log = await world.openWithSpare()
    t.equal(zeroFilesSince(world, callCount) === 0, isUsed)
    const next = world.disk.readFile(world.path('wal/0000000000000003-00000002.wal'))
    t.equal(next.length, 4096)
    await log.close()
  }
})

t.test('a segment can be filled to its last byte, and opens again', async (t) => {
  const segmentBytes = 4096
  for (let left = 0; left < 100; left++) {
    const world = new World()
    const log = await world.openWithSpare({ segmentBytes })
    while (segmentBytes - log.segments.at(-1)!.usedBytes > 1000) {
      await log.append(log.nextLsn, new Uint8Array(500))
    }
    const start = nextBatchOffset(log.segments.at(-1)!.usedBytes)
    const room = segmentBytes - start - batchHeaderBytes - recordHeaderBytes
    await log.append(log.nextLsn, new Uint8Array(room - left))
    const { durableLsn } = log
    const crashed = world.copy()
    const again = await crashed.open({ segmentBytes })
    t.equal(again.durableLsn, durableLsn, `${left} bytes left`)
    await again.close()
    await log.close()
  }
})

t.test('an open keeps all spares that are large enough, under names of its own', async (t) => {
  const world = new World()
  await (await world.openWithSpare()).close()
  const spare = world.disk.readFile(world.path('wal/spare-00000001-0000000000000002'))
  for (const number of [7, 8])
    world.disk.writeFile(world.path(`wal/spare-00000001-000000000000000${number}`), spare)
  // A rename that a crash left half done.
  world.disk.writeFile(world.path('wal/spare-00000009-0000000000000007'), spare)
  const log = await world.openWithSpare()
  t.same(
    world.files().filter((name) => name.includes('spare')),
    ['wal/spare-00000002-0000000000000007', 'wal/spare-00000002-0000000000000008'],
  )
  await log.close()
})

t.test('a log that was opened with a clock ahead keeps that time', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 1)
  await world.clock.advance(5000)
  await appendOneByOne(log, 1)
  const latest = world.clock.now()
  const crashed = world.copy()
  crashed.clock.jump(-86_400_000)
  const second = await crashed.open()
  t.equal(second.recovery.latestClockMs, latest)
  t.equal(second.segments.at(-1)?.begunAt, latest)
  await second.close()
  const third = await crashed.open()
  t.equal(third.recovery.latestClockMs, latest)
  await third.close()
})

t.test(
  'a superseded writer is fenced by another epoch, another sequence, or an unreadable HEAD',
  async (t) => {
    for (const how of ['opening', 'epoch', 'sequence', 'damage', 'loss'] as const) {
      const world = new World(new SimulatedDisk({ locks: false }))
      const zombie = await world.openWithSpare({ disk: world.disk.process() })
      await appendOneByOne(zombie, 2)
      if (how === 'opening') await (await world.open()).close()
      else if (how === 'epoch' || how === 'sequence') raiseInHead(world, how)
      else if (how === 'loss') world.disk.removeFile(world.path('HEAD'))
      else for (const at of [0, 512]) world.disk.flipBit(world.path('HEAD'), (at + 20) * 8)
      t.equal(await rejection(zombie.roll()), 'WAL_FENCED', how)
      await zombie.close()
    }
  },
)

/** Increments one number in both copies of HEAD and corrects their checksums. */
function raiseInHead(world: World, field: 'sequence' | 'epoch'): void {
  const head = Buffer.from(world.disk.readFile(world.path('HEAD')))
  for (const copy of [head.subarray(0, 56), head.subarray(512, 568)]) {
    const at = field === 'sequence' ? 32 : 40
    copy.writeBigUInt64LE(copy.readBigUInt64LE(at) + 1n, at)
    copy.writeUInt32LE(crc32(copy.subarray(12)), 8)
  }
  world.disk.writeFile(world.path('HEAD'), head)
}

t.test('a HEAD that names another epoch of the newest segment is damage', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 2)
  await log.close()
  raiseInHead(world, 'epoch')
  await t.rejects(world.open(), {
    code: 'WAL_CORRUPT',
    message: /names segment 1 of epoch 2, but epoch 1 wrote that segment/,
  })
})

t.test('replay rejects a segment that has become shorter since the log was opened', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 5)
  await log.roll()
  await appendOneByOne(log, 2)
  world.disk.flipBit(world.path(world.segments()[0] ?? ''), 900 * 8)
  t.equal(await rejection(replayedLsns(t, log)), 'WAL_CORRUPT')
  await log.close()
})

t.test(
  'replay names the records of a segment whose header was damaged after the open',
  async (t) => {
    const world = new World()
    const log = await world.open()
    await appendOneByOne(log, 5)
    await log.roll()
    await appendOneByOne(log, 3)
    await log.roll()
    const name = world.segments()[1] ?? ''
    world.disk.flipBit(world.path(name), 20 * 8)
    await t.rejects(replayedLsns(t, log), {
      code: 'WAL_CORRUPT',
      damage: { file: name, firstMissingLsn: 6, lastMissingLsn: 8 },
      message:
        /LSN 6 and later cannot be read; records up to at least LSN 8 were acknowledged\. Restore a backup, or call diagnoseLog/,
    })
    await log.close()
  },
)

t.test('a replay from an invalid or removed LSN is rejected', async (t) => {
  const log = await new World().open()
  await appendOneByOne(log, 3)
  for (const wrong of [0, -1, 1.5, 'x' as never]) {
    t.equal(await rejection(replayedLsns(t, log, wrong)), 'WAL_BAD_OPTION')
  }
  t.same(await replayedLsns(t, log, 100), [], 'nothing after the end')
  t.throws(() => log.claim(10, 'urgent' as never), { code: 'WAL_BAD_OPTION' })
  await log.close()
})

t.test("the new holder's name replaces a longer one completely", async (t) => {
  const path = `${t.testdir()}/LOCK`
  for (const holder of ['process 1234567', 'process 89']) {
    const attempt = await nodeDisk.lock(path, holder)
    if (!attempt.granted) throw new Error(`${attempt.holder} holds it`)
    t.equal(readFileSync(path, 'utf8'), `${holder}\n`)
    await attempt.release()
  }
})

t.test(
  'a file system that does not report its size does not count as full',
  { skip: process.platform !== 'linux' && 'no such file system is known here' },
  async (t) => {
    t.ok((await nodeDisk.freeBytes(t.testdir())) > 0)
    await t.rejects(nodeDisk.freeBytes('/proc'), { code: 'ENOTSUP' })
    const world = new World()
    const { disk } = world
    const silent = {
      ...withFileMethods(disk, () => ({})),
      freeBytes: () => nodeDisk.freeBytes('/proc'),
    }
    const log = await world.openWithSpare({ disk: silent })
    await log.close()
  },
)

t.test(
  'a lock whose file cannot be written fails and is released',
  { skip: process.platform !== 'linux' && 'only Linux has a file that is always full' },
  async (t) => {
    const descriptors = () => readdirSync('/proc/self/fd').length
    await t.rejects(nodeDisk.lock('/dev/full', 'process 1'), { code: 'ENOSPC' })
    const before = descriptors()
    // If the first lock were kept, the second call would report it as taken.
    await t.rejects(nodeDisk.lock('/dev/full', 'process 2'), { code: 'ENOSPC' })
    t.equal(descriptors(), before)
  },
)

t.test(
  'an error of the operating system keeps its code',
  { skip: process.platform !== 'linux' && 'other systems use other codes' },
  async (t) => {
    const { open } = nodeDisk
    const path = `${t.testdir({ file: 'content' })}/file`
    await t.rejects(open(`${path}s`, 'read'), { code: 'ENOENT' })
    const readable = await open(path, 'read')
    await t.rejects(readable.write(Buffer.from('x'), 0), { code: 'EBADF' })
    t.throws(() => readable.writeOnLoop(Buffer.from('x'), 0), { code: 'EBADF' })
    await readable.close()
    t.equal(readFileSync(path, 'utf8'), 'content')
    const directory = await open(t.testdirName, 'read')
    await t.rejects(directory.read(new Uint8Array(1), 0), { code: 'EISDIR' })
    await directory.close()
    const device = await open('/dev/null', 'read')
    await t.rejects(device.sync(), { code: 'EINVAL' })
    await device.close()
  },
)
