import t from 'tap'
import type { Claim, Log, Urgency } from '../src/index.js'
import {
  appendOneByOne,
  codeOf,
  range,
  recordOf,
  rejection,
  replayedLsns,
  World,
  withFileMethods,
  worldThatHolds,
} from './world.js'

/** A log on a disk without space for another segment. */
async function onFullDisk(): Promise<{ world: World; log: Log; full: boolean[] }> {
  const world = new World()
  const full: boolean[] = []
  const observer = { spaceChanged: (isFull: boolean) => full.push(isFull) }
  const log = await world.openWithSpare({ observer })
  world.disk.setCapacity(world.disk.usedBytes)
  // The spare becomes the segment, and there is no space for another spare.
  while (world.segments().length < 2) await appendOneByOne(log, 1)
  await world.clock.settle()
  return { world, log, full }
}

t.test(
  'a full disk is noticed while the next segment is prepared, and reported once',
  async (t) => {
    const { world, log, full } = await onFullDisk()
    t.same(full, [true])
    await world.clock.advance(5000)
    t.same(full, [true])
    await log.close()
  },
)

t.test(
  'an append on a full disk is rejected before anything is written, and the log stays open',
  async (t) => {
    const { world, log } = await onFullDisk()
    let code: string | undefined
    while (code === undefined) {
      const next = log.nextLsn
      const calls = world.disk.callCount
      code = await rejection(log.append(next, recordOf(next)))
      if (code === undefined) continue
      t.equal(world.disk.callCount, calls, 'no call reaches the disk')
      t.equal(log.nextLsn, next, 'no LSN is used up')
    }
    t.equal(code, 'WAL_NO_SPACE')
    t.same(await replayedLsns(t, log), range(1, log.durableLsn))
    await log.close()
  },
)

t.test('a log on a full disk opens once more, and again when there is space', async (t) => {
  const { world, log } = await onFullDisk()
  while ((await rejection(log.append(log.nextLsn, recordOf(log.nextLsn)))) === undefined);
  const last = log.durableLsn
  for (const policy of ['keep-none', 'keep-all'] as const) {
    // Use a power loss, because the reserve must be durable before a close.
    const survivor = world.copy()
    const full = survivor.with(survivor.disk.powerLoss(policy))
    const once = await full.open()
    t.same(await replayedLsns(t, once), range(1, last))
    t.equal(await appendOneByOne(once, 3), last + 3)
    await once.close()
    t.equal(await rejection(full.open()), 'WAL_NO_SPACE', 'nothing is left for another open')
    full.disk.setCapacity(1_000_000)
    const roomy = await full.openWithSpare()
    t.same(await replayedLsns(t, roomy), range(1, last + 3))
    t.ok(full.files().includes('wal/reserve-00000003'), 'and the next reserve is made')
    await roomy.close()
  }
  await log.close()
})

t.test('the reserve survives opens that do not need it', async (t) => {
  const { world, log } = await onFullDisk()
  await log.close()
  world.disk.setCapacity(1_000_000)
  for (const epoch of ['2', '3']) {
    await (await world.open()).close()
    const reserves = world.files().filter((name) => name.includes('reserve'))
    t.same(reserves, [`wal/reserve-0000000${epoch}`])
  }
  world.disk.truncateFile(world.path('wal/reserve-00000003'), 2048)
  await (await world.open()).close()
  const left = world.files().filter((name) => name.includes('reserve'))
  t.same(left, [], 'one that is too small is not kept')
})

t.test('the reserve is durable before the spare is ready', async (t) => {
  const world = new World()
  await world.openWithSpare()
  const left = world.with(world.disk.powerLoss('keep-none')).files()
  t.ok(left.includes('wal/reserve-00000001'), left.join(' '))
})

t.test('nothing is written while the disk is full', async (t) => {
  const { world, log } = await onFullDisk()
  const free = 4000
  world.disk.setCapacity(world.disk.usedBytes + free)
  const before = world.disk.callCount
  await world.clock.advance(60_000)
  const calls = world.disk.calls.slice(before)
  t.same(
    calls.filter(({ kind }) => kind === 'write'),
    [],
  )
  t.ok(calls.length > 60, 'it checks the free space')
  t.equal(await log.freeBytes(), free)
  await log.close()
})

t.test('on a disk that promises space it does not have, attempts become rare', async (t) => {
  const world = new World()
  const { disk } = world
  const free = { now: Number.POSITIVE_INFINITY }
  const promising = { ...withFileMethods(disk, () => ({})), freeBytes: async () => free.now }
  const log = await world.openWithSpare({ disk: promising })
  disk.setCapacity(disk.usedBytes)
  while (world.segments().length < 2) await appendOneByOne(log, 1)
  await world.clock.settle()
  const attempts = async (ms: number) => {
    const before = disk.callCount
    await world.clock.advance(ms)
    const calls = disk.calls.slice(before)
    return calls.filter(({ kind, path }) => kind === 'write' && path.includes('spare')).length
  }
  t.ok((await attempts(10_000)) >= 3)
  t.ok((await attempts(600_000)) <= 20)
  disk.setCapacity(1_000_000)
  t.equal(await attempts(60_000), 1, 'it still notices free space')
  await appendOneByOne(log, 60)
  await log.close()
})

t.test('with little space the next segment is smaller', async (t) => {
  const mebibyte = 2 ** 20
  const world = new World()
  const made: number[] = []
  const full: boolean[] = []
  const observer = {
    sparePrepared: ({ bytes }: { bytes: number }) => made.push(bytes / mebibyte),
    spaceChanged: (isFull: boolean) => full.push(isFull),
  }
  const log = await world.open({ segmentBytes: 8 * mebibyte, observer })
  const rollWith = async (roomBytes: number) => {
    await world.clock.settle()
    world.disk.setCapacity(world.disk.usedBytes + roomBytes)
    await appendOneByOne(log, 1)
    await log.roll()
    await world.clock.settle()
  }
  await rollWith(100 * mebibyte)
  await rollWith(100 * mebibyte)
  await rollWith(5 * mebibyte)
  await rollWith(1 * mebibyte)
  t.same(made, [2, 4, 8, 2, 1])
  t.same(full, [])
  await rollWith(mebibyte - 1)
  t.same(full, [true])
  world.disk.setCapacity(world.disk.usedBytes + 100 * mebibyte)
  await world.clock.advance(1000)
  t.same([made.at(-1), full], [2, [true, false]])
  await log.close()
})

t.test('claimed space stays available until its records arrive', async (t) => {
  const { world, log } = await onFullDisk()
  const record = new Uint8Array(97)
  const claims: Claim[] = []
  for (;;) {
    try {
      claims.push(log.claim(record.length, 'high'))
    } catch (error) {
      t.equal(codeOf(error), 'WAL_NO_SPACE')
      break
    }
  }
  t.ok(claims.length > 5)
  let durable = 0
  for (const claim of claims) {
    log.append(log.nextLsn, record, claim).then(() => durable++, t.error)
    // Long enough for a sync mark.
    await world.clock.advance(200)
  }
  t.equal(durable, claims.length)
  await log.close()
})

t.test('the log reports the free space', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  t.equal(await log.freeBytes(), Number.POSITIVE_INFINITY)
  world.disk.setCapacity(world.disk.usedBytes + 12_345)
  t.equal(await log.freeBytes(), 12_345)
  world.disk.setCapacity(1)
  t.equal(await log.freeBytes(), 0)
  await log.close()
})

t.test('the log continues by itself when space is freed', async (t) => {
  const { world, log, full } = await onFullDisk()
  while ((await rejection(log.append(log.nextLsn, recordOf(log.nextLsn)))) === undefined);
  world.disk.setCapacity(1_000_000)
  await world.clock.advance(1000)
  t.same(full, [true, false])
  const before = log.durableLsn
  await appendOneByOne(log, 60)
  t.equal(log.durableLsn, before + 60)
  t.same(await replayedLsns(t, log), range(1, before + 60))
  await log.close()
})

t.test('less urgent records are rejected first, and space for urgent ones is kept', async (t) => {
  const { log } = await onFullDisk()
  /** How much of the last segment is left when records of this urgency are rejected. */
  const leftAt: Partial<Record<Urgency, number>> = {}
  const { bytes } = log.segments.at(-1)!
  for (const urgency of ['low', 'normal', 'high'] as const) {
    for (;;) {
      try {
        const claim = log.claim(100, urgency)
        await log.append(log.nextLsn, recordOf(log.nextLsn), claim)
      } catch (error) {
        t.equal(codeOf(error), 'WAL_NO_SPACE')
        break
      }
    }
    leftAt[urgency] = bytes - log.segments.at(-1)!.usedBytes
  }
  for (const [urgency, keptBack] of [
    ['low', bytes / 2],
    ['normal', bytes / 4],
    ['high', 0],
  ] as const) {
    const left = leftAt[urgency] ?? 0
    t.ok(keptBack <= left && left < keptBack + 500, `${urgency}: ${left} of ${bytes} are left`)
  }
  t.throws(() => log.claim(100, 'low'), { code: 'WAL_NO_SPACE' })
  await log.close()
})

t.test(
  'space for urgent records is kept, however late the disk reports that it is full',
  async (t) => {
    const { world, state, release } = worldThatHolds(({ kind }) => kind === 'freeBytes')
    const log = await world.openWithSpare()
    world.disk.setCapacity(world.disk.usedBytes)
    state.isHolding = true
    const append = async (urgency: Urgency) => {
      const record = recordOf(log.nextLsn)
      await log.append(log.nextLsn, record, log.claim(record.length, urgency))
    }
    const codes: Array<string | undefined> = []
    while (codes.at(-1) === undefined) {
      const { length } = codes
      rejection(append('low')).then((code) => codes.push(code), t.error)
      await world.clock.settle()
      // The append that starts the last segment waits until the disk has reported its free space.
      if (codes.length === length) release()
      await world.clock.settle()
      if (codes.length === length) break
    }
    t.equal(codes.at(-1), 'WAL_NO_SPACE', 'every append is answered')
    t.equal(world.segments().length, 2)
    const { bytes, usedBytes } = log.segments.at(-1)!
    t.ok(usedBytes <= bytes / 2, `${usedBytes} of ${bytes} bytes are used`)
    for (const urgency of ['normal', 'high'] as const) await t.resolves(append(urgency), urgency)
    await log.close()
  },
)

t.test(
  'a disk with space for the reserve only is reported as full before the reserve is made',
  async (t) => {
    const { world, state, release } = worldThatHolds(
      ({ kind, path }) => kind === 'write' && path.includes('reserve'),
    )
    state.isHolding = true
    // The first segment, the reserve, and the space of HEAD and LOCK.
    world.disk.setCapacity(3 * 4096 - 512)
    const full: boolean[] = []
    const log = await world.open({ observer: { spaceChanged: (isFull) => full.push(isFull) } })
    await world.clock.settle()
    t.same(full, [true])
    release()
    await world.clock.settle()
    t.ok(world.files().includes('wal/reserve-00000001'))
    t.same(full, [true], 'reported once')
    await log.close()
  },
)

t.test('a claim keeps its space until it is used or released', async (t) => {
  const { log } = await onFullDisk()
  const claims = []
  try {
    while (claims.length < 100) claims.push(log.claim(200, 'high'))
  } catch (error) {
    t.equal(codeOf(error), 'WAL_NO_SPACE')
  }
  t.ok(claims.length > 3 && claims.length < 100)
  t.equal(await rejection(log.append(log.nextLsn, new Uint8Array(150))), 'WAL_NO_SPACE')
  const [first, second] = claims
  first?.release()
  first?.release()
  log.claim(200, 'high').release()
  await t.resolves(log.append(log.nextLsn, new Uint8Array(150), second))
  await log.close()
})

t.test('claims are never rejected while segments can be created', async (t) => {
  const log = await new World().open()
  for (let count = 0; count < 1000; count++) log.claim(1000, 'low')
  t.equal(await appendOneByOne(log, 3), 3)
  await log.close()
})

t.test('a log with a full last segment waits for the next one, and then for space', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  world.disk.setCapacity(world.disk.usedBytes)
  // More than the two segments can contain, accepted before the disk turned out to be full.
  const appends = range(1, 150).map((lsn) => log.append(lsn, recordOf(lsn)))
  await world.clock.settle()
  t.ok(log.durableLsn < 150)
  t.equal(await rejection(log.append(151, recordOf(151))), 'WAL_NO_SPACE')
  world.disk.setCapacity(1_000_000)
  await world.clock.advance(1000)
  t.equal(Math.max(...(await Promise.all(appends))), 150)
  t.same(await replayedLsns(t, log), range(1, 150))
  await log.close()
})

t.test('close rejects appends that wait for space, and loses no acknowledged record', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  world.disk.setCapacity(world.disk.usedBytes)
  const appends = range(1, 150).map((lsn) => log.append(lsn, recordOf(lsn)))
  const outcomes = Promise.allSettled(appends)
  await world.clock.settle()
  await log.close()
  const refused = (await outcomes).filter((it) => it.status === 'rejected')
  t.ok(refused.length > 0)
  t.ok(refused.every((it) => codeOf(it.reason) === 'WAL_NO_SPACE'))
  world.disk.setCapacity(1_000_000)
  const reopened = await world.open()
  t.same(await replayedLsns(t, reopened), range(1, 150 - refused.length))
  await reopened.close()
})

t.test('a log on a nearly full disk can be opened with the spare that survived', async (t) => {
  const world = new World()
  const log = await world.openWithSpare()
  await appendOneByOne(log, 5)
  await log.close()
  world.disk.setCapacity(world.disk.usedBytes)
  const reopened = await world.open()
  t.equal(reopened.recovery.epoch, 2)
  await appendOneByOne(reopened, 5)
  t.same(await replayedLsns(t, reopened), range(1, 10))
  await reopened.close()
})

t.test('every claim granted on a full disk can be used once, up to its size', async (t) => {
  const { log } = await onFullDisk()
  const claims: Claim[] = []
  try {
    for (;;) claims.push(log.claim(20, 'high'))
  } catch (error) {
    t.equal(codeOf(error), 'WAL_NO_SPACE')
  }
  for (const claim of claims) await log.append(log.nextLsn, new Uint8Array(16), claim)
  t.pass(`${claims.length} claims`)
  const [spent] = claims
  try {
    for (;;) log.claim(20, 'high')
  } catch (error) {
    t.equal(codeOf(error), 'WAL_NO_SPACE')
  }
  const again = log.append(log.nextLsn, new Uint8Array(16), spent)
  t.equal(await rejection(again), 'WAL_NO_SPACE')
  for (const bytes of [-1, Number.NaN, 1.5])
    t.throws(() => log.claim(bytes, 'high'), { code: 'WAL_BAD_OPTION' })
  await log.close()
})

t.test('a restart loop on a full disk uses no more space', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 3)
  world.disk.failWhen((call) => call.kind === 'writeOnLoop', { kind: 'crash', when: 'before' })
  await rejection(log.append(4, new Uint8Array(900).fill(1)))
  const torn = world.with(
    world.disk.powerLoss({ keep: (it) => it.kind !== 'sector' || it.sector !== 1 }),
  )
  for (const name of torn.files().filter((it) => it.includes('spare')))
    torn.disk.removeFile(torn.path(name))
  torn.disk.setCapacity(torn.disk.usedBytes + 1024)
  const used = torn.disk.usedBytes
  for (let round = 0; round < 5; round++) {
    t.equal(await rejection(torn.open()), 'WAL_NO_SPACE')
    t.ok(torn.disk.usedBytes <= used + 1024)
  }
  torn.disk.setCapacity(1_000_000)
  const reopened = await torn.open()
  t.same(await replayedLsns(t, reopened), range(1, reopened.durableLsn))
  await reopened.close()
})

t.test(
  'an unfinished spare is removed when the space runs out, and any other failure stops the log',
  async (t) => {
    const { world, log } = await onFullDisk()
    t.notOk(world.files().some((name) => name.endsWith('.tmp')))
    await log.close()
    const failing = new World()
    failing.disk.failWhen((call) => call.path.includes('spare'), { kind: 'error', code: 'EIO' })
    const told: string[] = []
    const failed = await failing.open({ observer: { failed: (error) => told.push(error.code) } })
    await failing.clock.settle()
    t.same(told, ['WAL_FAILED'])
    await failed.close()
  },
)
