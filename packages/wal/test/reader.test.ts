import t from 'tap'
import { openReadOnly, verifyLog } from '../src/index.js'
import {
  appendOneByOne,
  appendTogether,
  directory,
  range,
  rejection,
  replayedLsns,
  World,
  withFileMethods,
} from './world.js'

const readerOf = (world: World) => openReadOnly(directory, { disk: world.disk, clock: world.clock })

t.test('a reader takes no lock, changes nothing, and ends at the last whole batch', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 100)
  const before = world.files().map((name) => [name, world.disk.readFile(world.path(name))])
  const calls = world.disk.callCount
  const reader = await readerOf(world)
  t.same(await replayedLsns(t, reader), range(1, 100))
  t.same(await replayedLsns(t, reader, 42), range(42, 100))
  const kinds = new Set(world.disk.calls.slice(calls).map((call) => call.kind))
  t.same([...kinds].sort(), ['close', 'list', 'open', 'read', 'size'])
  t.same(
    world.files().map((name) => [name, world.disk.readFile(world.path(name))]),
    before,
  )
  await log.close()
})

t.test('a reader lists the opens of the log with their time and first LSN', async (t) => {
  const world = new World()
  const openedAt: number[] = []
  for (const round of [1, 2, 3]) {
    await world.clock.advance(1000)
    openedAt.push(world.clock.now())
    const log = await world.open()
    await appendOneByOne(log, 10)
    if (round === 2) await log.roll()
    await appendOneByOne(log, 10)
    await log.close()
  }
  const { openings } = await readerOf(world)
  t.same(
    openings,
    openedAt.map((at, index) => ({ epoch: index + 1, firstLsn: index * 20 + 1, at })),
  )
})

t.test('the oldest remaining segment does not count as an open', async (t) => {
  const world = new World()
  const log = await world.open()
  for (const _ of [1, 2]) {
    await appendOneByOne(log, 10)
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, [])
  }
  await log.truncate()
  await log.close()
  await (await world.open()).close()
  const reader = await readerOf(world)
  t.equal(reader.firstLsn, 11)
  t.same(
    reader.openings.map(({ epoch }) => epoch),
    [2],
  )
})

t.test(
  'a following reader sees every record across rolls and restarts of the writer',
  async (t) => {
    const world = new World()
    let log = await world.open()
    await appendOneByOne(log, 10)
    const reader = await readerOf(world)
    const stop = new AbortController()
    const seen: number[] = []
    const following = (async () => {
      for await (const run of reader.replay({ follow: true, signal: stop.signal })) {
        for (const index of run.records.keys()) seen.push(run.firstLsn + index)
      }
    })()
    for (let round = 0; round < 6; round++) {
      await appendTogether(log, 5)
      await appendOneByOne(log, 25)
      await world.clock.advance(50)
      t.same(seen, range(1, log.durableLsn), `round ${round}`)
      if (round % 2 === 1) {
        await log.close()
        log = await world.open()
      }
    }
    stop.abort()
    await following
    t.equal(seen.length, 190)
    await log.close()
  },
)

t.test('a following reader stops immediately when its signal is aborted', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 1)
  const reader = await readerOf(world)
  const runs = reader.replay({ follow: true, signal: AbortSignal.abort() })
  t.same(await runs.next(), { done: true, value: undefined })
  const stop = new AbortController()
  const waiting = reader.replay({ fromLsn: 2, follow: true, signal: stop.signal }).next()
  await world.clock.advance(100)
  stop.abort()
  t.same(await waiting, { done: true, value: undefined })
  await log.close()
})

t.test('a reader rejects damage like the writer', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 100)
  await log.close()
  const [first = '', second = ''] = world.segments()
  const flipped = world.copy()
  flipped.disk.flipBit(flipped.path(first), 700 * 8)
  t.equal(
    await rejection(readerOf(flipped).then((reader) => replayedLsns(t, reader))),
    'WAL_CORRUPT',
  )
  const poorer = world.copy()
  poorer.disk.removeFile(poorer.path(second))
  t.equal(await rejection(readerOf(poorer)), 'WAL_CORRUPT')
})

t.test('a reader of a directory without a log fails with WAL_NOT_A_LOG', async (t) => {
  const world = new World()
  t.equal(await rejection(readerOf(world)), 'WAL_NOT_A_LOG')
  t.equal(await rejection(world.verify()), 'WAL_NOT_A_LOG')
})

t.test('a reader of truncated records is told the first remaining LSN', async (t) => {
  const world = new World()
  const log = await world.open()
  for (let round = 0; round < 3; round++) {
    await appendOneByOne(log, 10)
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, [])
  }
  await log.truncate()
  const reader = await readerOf(world)
  t.equal(reader.firstLsn, 21)
  t.equal(await rejection(replayedLsns(t, reader, 20)), 'WAL_FORGOTTEN')
  t.same(await replayedLsns(t, reader, 21), range(21, 30))
  await log.close()
})

t.test('verify reports the figures of an undamaged log', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 100)
  await log.close()
  const report = await world.verify()
  t.match(report, {
    logId: 'a5'.repeat(16),
    epoch: 1,
    segments: world.segments().length,
    records: 100,
    firstLsn: 1,
    lastLsn: 100,
    gaps: [],
    goodCheckpoints: [],
    tornTail: undefined,
    damage: undefined,
  })
})

t.test(
  'a reader whose records are truncated fails with WAL_FORGOTTEN, following or not',
  async (t) => {
    for (const follow of [false, true]) {
      const world = new World()
      const log = await world.open()
      await appendOneByOne(log, 2)
      const reader = await readerOf(world)
      const runs = reader.replay({ fromLsn: 1, follow })
      t.equal((await runs.next()).value?.firstLsn, 1)
      for (let round = 0; round < 4; round++) {
        await appendOneByOne(log, 2)
        await log.roll()
        await log.writeCheckpoint(log.sealedLsn, [])
        await log.truncate()
      }
      const outcome = rejection(runs.next())
      await world.clock.advance(100)
      t.equal(await outcome, 'WAL_FORGOTTEN')
      const late = rejection(readerOf(world).then((it) => replayedLsns(t, it, it.firstLsn)))
      t.equal(await late, undefined)
      await log.close()
    }
  },
)

t.test('a reader reports damage in the newest segment, and an unreadable disk', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 6)
  const name = world.segments()[0] ?? ''
  const flipped = world.copy()
  flipped.disk.flipBit(flipped.path(name), 700 * 8)
  const unreadable = world.copy()
  unreadable.disk.failWhen((call) => call.kind === 'read' && (call.position ?? 0) >= 512, {
    kind: 'error',
    code: 'EIO',
    times: 'forever',
  })
  for (const machine of [flipped, unreadable]) {
    const outcome = rejection(readerOf(machine).then((reader) => replayedLsns(t, reader)))
    await machine.clock.advance(1000)
    t.equal(await outcome, 'WAL_CORRUPT')
  }
  // A header lost in the middle looks like the end at first.
  const zeroed = world.copy()
  const bytes = Buffer.from(zeroed.disk.readFile(zeroed.path(name)))
  const second = bytes.indexOf('TNRB', 513)
  zeroed.disk.writeFile(zeroed.path(name), bytes.fill(0, second, second + 64))
  for (const follow of [false, true]) {
    const reader = await readerOf(zeroed)
    const outcome = rejection(
      (async () => {
        for await (const _ of reader.replay({ follow }));
      })(),
    )
    await zeroed.clock.advance(5000)
    t.equal(await outcome, 'WAL_CORRUPT', follow ? 'following' : 'reading')
  }
  await log.close()
})

t.test('following an idle log costs few disk reads', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 3)
  await log.roll()
  await log.writeCheckpoint(3, [new Uint8Array(100_000)])
  await appendOneByOne(log, 3)
  const reader = await readerOf(world)
  const stop = new AbortController()
  const following = (async () => {
    for await (const _ of reader.replay({ follow: true, signal: stop.signal }));
  })()
  await world.clock.advance(2000)
  const before = world.disk.callCount
  await world.clock.advance(1000)
  const calls = world.disk.calls.slice(before)
  const bytes = calls
    .filter((call) => call.kind === 'read')
    .reduce((sum, it) => sum + (it.bytes ?? 0), 0)
  t.ok(calls.length <= 50 * 6, `${calls.length} calls a second`)
  t.ok(bytes < 50 * 4096, `${bytes} bytes a second`)
  stop.abort()
  await world.clock.advance(100)
  await following
  await log.close()
})

t.test('verify during appends does not report an unfinished write as damage', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  await appendOneByOne(log, 5)
  let reads = 0
  const moving = withFileMethods(world.disk.process(), (file, path) => ({
    // Two appends happen between any two reads.
    async read(into, position) {
      if (path.endsWith('.wal') && reads++ < 60) await appendOneByOne(log, 2)
      return file.read(into, position)
    },
  }))
  const report = await verifyLog(directory, { disk: moving })
  t.equal(report.damage, undefined)
  await log.close()
})

t.test('verify during continuous appends finds no damage', async (t) => {
  const world = new World()
  const log = await world.openWithSpare({ segmentBytes: 64 * 1024 })
  await appendOneByOne(log, 5)
  const restless = withFileMethods(world.disk.process(), (file, path) => ({
    async read(into, position) {
      if (path.endsWith('.wal')) await appendOneByOne(log, 2)
      return file.read(into, position)
    },
  }))
  const report = await verifyLog(directory, { disk: restless })
  t.equal(report.damage, undefined)
  t.equal(report.tornTail, undefined)
  t.ok(report.lastLsn >= 5)
  await log.close()
})

t.test('verify during a truncation retries and finds no damage', async (t) => {
  const world = new World()
  const log = await world.open()
  for (let part = 0; part < 3; part++) {
    await appendOneByOne(log, 20)
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, [new Uint8Array(10)])
  }
  let truncated: Promise<unknown> | undefined
  const overtaken = withFileMethods(world.disk.process(), (file, path) => ({
    async read(into, position) {
      if (path.endsWith('.ckpt')) {
        truncated ??= log.truncate()
        await truncated
      }
      return file.read(into, position)
    },
  }))
  const report = await verifyLog(directory, { disk: overtaken })
  t.equal(report.damage, undefined)
  t.ok(report.firstLsn > 1)
  await log.close()
})

t.test('a reader lists the same segments as the log, with their files', async (t) => {
  const world = new World()
  const log = await world.open()
  for (const _ of [1, 2]) {
    await appendOneByOne(log, 10)
    await world.clock.advance(1000)
    await log.roll()
  }
  await appendOneByOne(log, 5)
  const files = world.segments()
  const expected = log.segments.map(({ usedBytes: end, ...segment }, index) => ({
    ...segment,
    file: files[index],
    epoch: 1,
    // The newest one is still being written, so its end is unknown.
    lastLsn: index < 2 ? 10 * (index + 1) : undefined,
    end: index < 2 ? end : undefined,
  }))
  t.same((await readerOf(world)).segments, expected)
  await log.close()
})

t.test('a log that rolls while a reader opens it is read to its end', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  await appendOneByOne(log, 3)
  let isRolled = false
  const rolling = withFileMethods(world.disk.process(), (file, path) => ({
    async close() {
      await file.close()
      if (path !== world.path('HEAD') || isRolled) return
      isRolled = true
      await log.roll()
      await appendOneByOne(log, 2)
    },
  }))
  const reader = await openReadOnly(directory, { disk: rolling, clock: world.clock })
  t.equal(reader.segments.length, 2)
  t.same(await replayedLsns(t, reader), range(1, 5))
  await log.close()
})

t.test('a file that ends before its reported size is damage, not the end of the log', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 10)
  await log.close()
  const short = withFileMethods(world.disk, (file, path) => ({
    read: (into, position) =>
      file.read(
        path.endsWith('.wal') ? into.subarray(0, Math.max(0, 700 - position)) : into,
        position,
      ),
  }))
  const damaged = { code: 'WAL_CORRUPT', message: /the file ends before byte/ }
  await t.rejects(world.open({ disk: short }), damaged)
  const reader = await openReadOnly(directory, { disk: short, clock: world.clock })
  const outcome = rejection(replayedLsns(t, reader))
  await world.clock.advance(1000)
  t.equal(await outcome, 'WAL_CORRUPT')
})

t.test('a replay whose next segment was removed fails with WAL_FORGOTTEN', async (t) => {
  const world = new World()
  const log = await world.open()
  for (let round = 0; round < 4; round++) {
    await appendOneByOne(log, 2)
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, [])
  }
  const reader = await readerOf(world)
  const runs = reader.replay({ fromLsn: 1 })
  t.equal((await runs.next()).value?.firstLsn, 1)
  await log.truncate()
  await t.rejects(runs.next(), {
    code: 'WAL_FORGOTTEN',
    message: /the first remaining record is LSN 7/,
  })
  await log.close()
})

t.test('a reader that has noticed a truncation skips no records silently', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 2)
  const reader = await readerOf(world)
  const stop = new AbortController()
  const following = (async () => {
    for await (const _ of reader.replay({ fromLsn: 3, follow: true, signal: stop.signal }));
  })()
  for (let round = 0; round < 4; round++) {
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, [])
    await appendOneByOne(log, 2)
    await world.clock.advance(100)
  }
  await log.truncate()
  await log.roll()
  await world.clock.advance(100)
  t.equal(reader.segments[0]?.firstLsn, log.firstLsn, 'the truncation was seen')
  t.equal(await rejection(replayedLsns(t, reader, 1)), 'WAL_FORGOTTEN')
  t.same(await replayedLsns(t, reader, log.firstLsn), range(log.firstLsn, log.durableLsn))
  stop.abort()
  await world.clock.advance(100)
  await following
  await log.close()
})
