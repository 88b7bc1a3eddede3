import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { DiskCall } from '@tenure/testing'
import t from 'tap'
import { openLog, verifyLog } from '../src/index.js'
import {
  appendOneByOne,
  range,
  recordOf,
  rejection,
  replayedLsns,
  World,
  worldThatHolds,
} from './world.js'

t.test('a roll during appends of any size loses nothing and keeps the log readable', async (t) => {
  const directory = `${t.testdir()}/log`
  const log = await openLog(directory)
  for (let round = 0; round < 20; round++) {
    const rolled = log.roll()
    const first = log.nextLsn
    const large = new Uint8Array(70_000)
    await Promise.all([rolled, log.append(first, large), log.append(first + 1, large)])
  }
  t.equal(log.durableLsn, 40)
  await log.close()
  const reopened = await openLog(directory)
  t.equal(reopened.durableLsn, 40)
  await reopened.close()
})

t.test('concurrent roll requests share one roll, and an empty segment is not rolled', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  await appendOneByOne(log, 3)
  await Promise.all([log.roll(), log.roll(), log.roll()])
  t.equal(world.segments().length, 2)
  await log.roll()
  t.equal(world.segments().length, 2)
  t.equal(log.sealedLsn, 3)
  await appendOneByOne(log, 3)
  t.same(await replayedLsns(t, log), range(1, 6))
  await log.close()
})

t.test('the log reports the size and the used bytes of each segment', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  const header = log.segments[0]!.usedBytes
  t.ok(header < 1024, 'an empty one contains its header')
  await appendOneByOne(log, 3)
  const filled = log.segments[0]!.usedBytes
  t.ok(filled > header)
  await log.roll()
  const [sealed, current] = log.segments
  t.match(sealed, { firstLsn: 1, bytes: 4096, usedBytes: filled })
  t.match(current, { firstLsn: 4, usedBytes: header })
  await log.close()
  const reopened = await world.open()
  t.match(reopened.segments[0], { usedBytes: filled }, 'also after reopening')
  await reopened.close()
})

t.test('a roll waits only for the batch in flight', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  let isRolled = false
  const appender = async () => {
    while (!isRolled) await log.append(log.nextLsn, recordOf(log.nextLsn))
  }
  const appenders = range(1, 8).map(appender)
  await log.append(log.nextLsn, recordOf(log.nextLsn))
  await log.roll()
  isRolled = true
  await Promise.all(appenders)
  await log.close()
  const reopened = await world.open()
  t.same(await replayedLsns(t, reopened), range(1, reopened.durableLsn))
  await reopened.close()
})

t.test('a roll on a full disk is rejected, and appends that still fit continue', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  world.disk.setCapacity(world.disk.usedBytes)
  while (world.segments().length < 2) await appendOneByOne(log, 1)
  await world.clock.settle()
  t.equal(await rejection(log.roll()), 'WAL_NO_SPACE')
  await appendOneByOne(log, 1)
  await log.close()
})

t.test(
  'a waiting roll is rejected when the disk is full or fails, or the log closes',
  async (t) => {
    for (const [code, expected] of [
      ['ENOSPC', 'WAL_NO_SPACE'],
      ['EIO', 'WAL_FAILED'],
      [undefined, 'WAL_CLOSED'],
    ] as const) {
      const isOfSpare = (call: DiskCall) => call.kind === 'write' && call.path.includes('spare')
      const { world, state, release } = worldThatHolds(isOfSpare)
      state.isHolding = true
      if (code !== undefined) world.disk.failWhen(isOfSpare, { kind: 'error', code })
      const log = await world.open()
      await appendOneByOne(log, 1)
      const rolling = rejection(log.roll())
      await world.clock.settle()
      const closing = code === undefined ? log.close() : undefined
      release()
      t.equal(await rolling, expected)
      await closing
      await log.close()
    }
  },
)

t.test('a failed log makes no more disk calls', async (t) => {
  const world = new World()
  const log = await world.open()
  world.disk.failWhen((call) => call.kind === 'writeOnLoop', { kind: 'error', code: 'EIO' })
  t.equal(await rejection(log.append(1, recordOf(1))), 'WAL_FAILED')
  await world.clock.advance(100)
  const calls = world.disk.callCount
  await world.clock.advance(10_000)
  t.equal(world.disk.callCount, calls)
  t.equal(world.clock.timers, 0)
  await log.close()
})

t.test('close waits for every pending disk call, and releases the lock last', async (t) => {
  const isOfLog = (call: DiskCall) => call.kind === 'write' && call.path.includes('.wal')
  const { world, state, held, release } = worldThatHolds(isOfLog)
  const log = await world.open({ clock: world.slowClock() })
  await appendOneByOne(log, 1)
  state.isHolding = true
  const pending = rejection(log.append(2, recordOf(2)))
  await world.clock.settle()
  t.equal(held.length, 1, 'the write is in progress')
  const closing = log.close()
  await world.clock.settle()
  t.equal(await rejection(world.open({ disk: world.disk.process() })), 'WAL_LOCKED')
  release()
  await closing
  t.equal(await pending, undefined)
  const order = world.disk.calls.filter((call) => call.process === 0).map((call) => call.kind)
  t.ok(order.lastIndexOf('close') > order.lastIndexOf('write'))
  t.ok(order.lastIndexOf('release') > order.lastIndexOf('close'))
})

t.test('a pending write keeps the file and the lock when the spare fails', async (t) => {
  const isHeld = (call: DiskCall) => call.kind === 'write'
  const { world, state, held } = worldThatHolds(isHeld)
  const log = await world.open({ clock: world.slowClock() })
  await appendOneByOne(log, 1)
  state.isHolding = true
  // The next segment is prepared when this one ends.
  const rolled = log.roll()
  await world.clock.settle()
  for (const resume of held.splice(0)) resume()
  await world.clock.settle()
  for (const resume of held.splice(0)) resume()
  const pending = rejection(log.append(2, recordOf(2)))
  world.disk.failWhen((call) => call.path.includes('spare'), {
    kind: 'error',
    code: 'EIO',
    times: 'forever',
  })
  await world.clock.settle()
  const closing = log.close()
  await world.clock.settle()
  while (held.length > 0) {
    for (const resume of held.splice(0)) resume()
    await world.clock.settle()
  }
  await closing
  await Promise.allSettled([rolled, pending])
  const order = world.disk.calls.map((call) => call.kind)
  t.ok(order.lastIndexOf('release') > order.lastIndexOf('write'))
})

t.test(
  'under the weaker sync modes a segment is synced before the next one records its end',
  async (t) => {
    for (const sync of ['interval', 'none'] as const) {
      const world = new World()
      const log = await world.openWithSpare({ sync })
      await appendOneByOne(log, 3)
      await log.roll()
      const survivor = world.with(world.disk.powerLoss('keep-none'))
      const reopened = await survivor.open({ sync })
      t.same(await replayedLsns(t, reopened), [1, 2, 3])
      await reopened.close()
    }
  },
)

t.test(
  'under the weaker sync modes a failed sync stops the log, and nothing more is written',
  async (t) => {
    const world = new World()
    const log = await world.openWithSpare({ sync: 'none' })
    await appendOneByOne(log, 3)
    world.disk.failWhen((call) => call.kind === 'sync', { kind: 'error', code: 'EIO' })
    t.equal(await rejection(log.roll()), 'WAL_FAILED')
    t.equal(world.segments().length, 1)
    await log.close()
    const closing = await new World().open({ sync: 'none' })
    await closing.close()

    const other = new World()
    const unsynced = await other.openWithSpare({ sync: 'none' })
    await appendOneByOne(unsynced, 1)
    other.disk.failWhen((call) => call.kind === 'sync', { kind: 'error', code: 'EIO' })
    t.equal(await rejection(unsynced.close()), 'WAL_FAILED', 'close reports the failed sync')
  },
)

t.test(
  'under the weaker sync modes a power loss takes unsynced records, and is not damage',
  async (t) => {
    let tornTails = 0
    for (const sync of ['interval', 'none'] as const) {
      for (let lost = 0; lost < 6; lost++) {
        const world = new World()
        const log = await world.openWithSpare({ sync })
        for (let lsn = 1; lsn <= 6; lsn++) await log.append(lsn, new Uint8Array(900).fill(lsn))
        const sectors = world.disk.pending().filter((change) => change.kind === 'sector')
        const at = sectors[Math.floor((lost * sectors.length) / 6)]
        const disk = world.disk.powerLoss({
          keep: (change) =>
            !(change.kind === 'sector' && at?.kind === 'sector' && change.sector === at.sector),
        })
        const reopened = await world.with(disk).open({ sync })
        t.ok(reopened.durableLsn < 6)
        if (reopened.recovery.tornTail !== undefined) tornTails++
        await reopened.close()
      }
    }
    t.ok(tornTails > 0)
  },
)

t.test('the log lists its segments with first LSN, creation time and size', async (t) => {
  const world = new World()
  const log = await world.open()
  const begunAt = [world.clock.now()]
  for (const _ of [1, 2]) {
    await appendOneByOne(log, 10)
    await world.clock.advance(1000)
    await log.roll()
    begunAt.push(world.clock.now())
  }
  const { segments } = log
  t.same(
    segments.map(({ firstLsn }) => firstLsn),
    [1, 11, 21],
  )
  t.same(
    segments.map((segment) => segment.begunAt),
    begunAt,
  )
  const sizes = world.segments().map((name) => world.disk.readFile(world.path(name)).length)
  t.same(
    segments.map(({ bytes }) => bytes),
    sizes,
  )
  await log.close()
})

t.test('the observer is told the new segment after each roll', async (t) => {
  const world = new World()
  const rolled: string[] = []
  const log = await world.openWithSpare({
    observer: {
      rolled: ({ segment, durationMs }) => {
        t.equal(log.segments.at(-1)?.firstLsn, log.nextLsn)
        t.equal(durationMs, 0)
        rolled.push(`wal/${segment}`)
      },
    },
  })
  for (const _ of [1, 2]) {
    await appendOneByOne(log, 3)
    await log.roll()
  }
  await log.roll()
  t.same(rolled, world.segments().slice(1))
  await log.close()
})

t.test('a spare that is finished during close is used by the next open', async (t) => {
  const isNamed = (call: DiskCall) => call.kind === 'rename' && call.path.includes('spare')
  const { world, state, held, release } = worldThatHolds(isNamed)
  state.isHolding = true
  const log = await world.open()
  await world.clock.settle()
  t.equal(held.length, 1, 'only its name is missing')
  let isClosed = false
  const closing = log.close().then(() => {
    isClosed = true
  })
  await world.clock.settle()
  t.notOk(isClosed, 'close waits for it')
  release()
  await closing
  const { callCount } = world.disk
  const next = await world.openWithSpare()
  await appendOneByOne(next, 1)
  await next.roll()
  await world.clock.settle()
  const created = world.disk.calls.filter(
    (call) => call.index >= callCount && call.kind === 'rename' && /spare.*tmp$/.test(call.path),
  )
  t.same(
    created.map(({ path }) => basename(path)),
    ['spare-00000002-0000000000000004.tmp'],
    'only the one after it is new',
  )
  await next.close()
})

// ---- descriptors

const program = fileURLToPath(new URL('fixtures/without-descriptors.js', import.meta.url))
const isLinux = process.platform === 'linux'

t.test(
  'a log continues over several segments without free descriptors',
  {
    skip: !isLinux && 'only Linux has these limits',
  },
  async (t) => {
    const directory = join(t.testdir(), 'log')
    // tap's loader must not run in the child.
    const { NODE_OPTIONS: _, ...env } = process.env
    const line = 'ulimit -n 64; exec "$0" "$@"'
    const args = ['-c', line, process.execPath, program, directory]
    const { stdout } = await promisify(execFile)('/bin/sh', args, { env })
    const { durableLsn, taken, list } = JSON.parse(stdout)
    t.ok(taken > 20, 'it had taken all descriptors')
    t.ok(list)
    const { damage, lastLsn } = await verifyLog(directory)
    t.match({ damage, lastLsn }, { damage: undefined, lastLsn: durableLsn })
  },
)

t.test(
  'close frees the spare descriptors',
  {
    skip: !isLinux && 'only Linux lists descriptors',
  },
  async (t) => {
    const descriptors = () => readdirSync('/proc/self/fd').length
    const before = descriptors()
    const directory = t.testdir()
    const logs = await Promise.all([0, 1].map((n) => openLog(join(directory, `log${n}`))))
    const opened = descriptors() - before
    t.ok(opened < 20, `${opened} for two logs`)
    await logs[0]?.append(1, new Uint8Array(1))
    await logs[0]?.close()
    t.ok(descriptors() > before)
    await logs[1]?.close()
    t.equal(descriptors(), before)
  },
)
