import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { type DiskCall, documentedDefaults, SimulatedClock } from '@tenure/testing'
import t from 'tap'
import type { Commit, Log, WalError } from '../src/index.js'
import { resolveOptions } from '../src/options.js'
import {
  appendOneByOne,
  appendTogether,
  range,
  recordOf,
  rejection,
  replayedLsns,
  World,
  withFileMethods,
} from './world.js'

t.test('an append resolves only when its record is durable', async (t) => {
  for (const isSlow of [false, true]) {
    const world = new World()
    const log = await world.open({ clock: isSlow ? world.slowClock() : world.clock })
    // After a slow write the next one goes to the thread pool, and returns before it is done.
    for (const lsn of [1, 2]) {
      t.equal(await log.append(lsn, recordOf(lsn)), lsn)
      t.equal(log.durableLsn, lsn)
      const survivor = world.with(world.copy().disk.powerLoss('keep-none'))
      const reopened = await survivor.open()
      t.equal((await replayedLsns(t, reopened)).at(-1), lsn)
    }
  }
})

t.test('appends during a write form the next batch', async (t) => {
  const world = new World()
  const commits: Commit[] = []
  const log = await world.open({ observer: { committed: (commit) => commits.push(commit) } })
  const first = log.append(1, recordOf(1))
  const second = log.append(2, recordOf(2))
  t.equal(first, second, 'both wait for the same batch')
  t.equal(await first, 2)
  t.same(
    commits.map(({ records, appends }) => ({ records, appends })),
    [{ records: 2, appends: 2 }],
  )
  await log.close()
})

t.test(
  'the log writes on the event loop while the disk is fast, and in the thread pool after a slow write',
  async (t) => {
    const world = new World()
    const onLoop: boolean[] = []
    let slowMs = 0
    const clock = {
      ...world.slowClock(),
      monotonicMs: () => {
        slowMs += onLoop.length < 3 ? 2 : 0
        return slowMs
      },
    }
    const observer = { committed: (commit: Commit) => onLoop.push(commit.onLoop) }
    const log = await world.open({ clock, observer })
    await appendOneByOne(log, 8)
    t.same(onLoop.slice(0, 4), [true, false, false, false])
    t.same(onLoop.slice(4), [true, true, true, true], 'after a fast one')
    const kinds = new Set(
      world.disk.calls.filter((it) => it.path.includes('.wal')).map((it) => it.kind),
    )
    t.ok(kinds.has('write') && kinds.has('writeOnLoop'))
    await log.close()
  },
)

/**
 * How many appends each batch has when the given numbers of appends come in consecutive turns of
 * the event loop.
 */
async function batchesOf(appendsByTurn: readonly number[]): Promise<number[]> {
  const world = new World()
  const batches: number[] = []
  // The spare triggers a pump when it becomes ready.
  const log = await new Promise<Log>((resolve) => {
    const opening = world.open({
      observer: {
        committed: ({ appends }: Commit) => appends > 0 && batches.push(appends),
        sparePrepared: () => resolve(opening),
      },
    })
  })
  const durable: Promise<number>[] = []
  for (const appends of appendsByTurn) {
    for (let count = 0; count < appends; count++) {
      durable.push(log.append(log.nextLsn, recordOf(log.nextLsn)))
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(durable)
  await log.close()
  return batches
}

t.test('a batch of several appends waits while it grows, for at most four turns', async (t) => {
  t.same(await batchesOf([2, 1, 1]), [4])
  t.same(await batchesOf([2, 0, 0, 1]), [2, 1])
  t.same(await batchesOf([2, 1, 1, 1, 1, 1]), [5, 1, 1])
})

t.test('a batch of one append does not wait', async (t) => {
  t.same(await batchesOf([1, 1, 1]), [1, 1, 1])
})

t.test('an append of many records is one batch and therefore atomic', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendTogether(log, 5)
  await log.close()
  const write = world.disk.calls.findLast(
    (call) => call.kind === 'writeOnLoop' && call.position === 512,
  )
  if (write === undefined) throw new Error('nothing was written')
  const again = new World()
  again.disk.failCall(write.index, { kind: 'crash', when: 'before' })
  const crashed = await again.open()
  t.equal(await rejection(appendTogether(crashed, 5)), 'WAL_FAILED')
  for (const policy of ['keep-none', 'keep-all'] as const) {
    const reopened = await again.with(again.disk.powerLoss(policy)).open()
    t.same(await replayedLsns(t, reopened), policy === 'keep-all' ? range(1, 5) : [])
    await reopened.close()
  }
})

t.test('an append with an unexpected LSN is rejected before anything is written', async (t) => {
  const log = await new World().open()
  t.equal(await rejection(log.append(2, recordOf(2))), 'WAL_LSN_MISMATCH')
  t.equal(await rejection(log.append(0, recordOf(0))), 'WAL_LSN_MISMATCH')
  t.equal(log.nextLsn, 1)
  t.equal(await log.append(1, recordOf(1)), 1)
  await log.close()
})

t.test('bad input is rejected with a code and loses nothing', async (t) => {
  const log = await new World().open()
  await log.append(1, recordOf(1))
  t.equal(await rejection(log.append(2, [])), 'WAL_EMPTY_APPEND')
  t.equal(await rejection(log.append(2, new Uint8Array(1021))), 'WAL_RECORD_TOO_LARGE')
  const many = [new Uint8Array(600), new Uint8Array(600)]
  t.equal(await rejection(log.append(2, many)), 'WAL_APPEND_TOO_LARGE')
  t.equal(log.nextLsn, 2)
  await log.append(2, recordOf(2))
  t.same(await replayedLsns(t, log), [1, 2])
  await log.close()
  t.equal(await rejection(log.append(3, recordOf(3))), 'WAL_CLOSED')
  t.throws(() => log.claim(10, 'low'), { code: 'WAL_CLOSED' })
})

t.test('a record can be empty, or as large as the largest append', async (t) => {
  const world = new World()
  const log = await world.open()
  const largest = new Uint8Array(1020).fill(3)
  await log.append(1, [new Uint8Array(0), new Uint8Array(0)])
  await log.append(3, largest)
  await log.close()
  const reopened = await world.open()
  const records: Uint8Array[] = []
  for await (const run of reopened.replay()) {
    for (const record of run.records) records.push(record.slice())
  }
  t.same(records, [new Uint8Array(0), new Uint8Array(0), largest])
  await reopened.close()
})

t.test('a record is copied by append, so its buffer can be reused immediately', async (t) => {
  const world = new World()
  const log = await world.open()
  const buffer = Buffer.from(recordOf(1))
  const durable = log.append(1, buffer)
  buffer.fill(0)
  await durable
  t.same(await replayedLsns(t, log), [1])
  await log.close()
})

t.test('several queued batches become durable in order', async (t) => {
  const world = new World()
  const log = await world.open()
  const order: number[] = []
  const appends = range(1, 200).map((lsn) =>
    log.append(lsn, recordOf(lsn)).then((upTo) => order.push(upTo)),
  )
  await Promise.all(appends)
  t.same(
    order,
    [...order].sort((a, b) => a - b),
  )
  t.equal(log.durableLsn, 200)
  t.same(await replayedLsns(t, log), range(1, 200))
  t.ok(world.segments().length > 3, 'they fill several segments')
  await log.close()
})

t.test('close waits for all appended records', async (t) => {
  const world = new World()
  const log = await world.open()
  const durable = log.append(1, recordOf(1))
  await log.close()
  t.equal(await durable, 1)
  await log.close()
  const reopened = await world.open()
  t.same(await replayedLsns(t, reopened), [1])
  await reopened.close()
})

t.test('after 100 ms without an append, exactly one sync mark proves the last batch', async (t) => {
  const world = new World()
  const commits: Commit[] = []
  const log = await world.open({ observer: { committed: (commit) => commits.push(commit) } })
  await log.append(1, recordOf(1))
  await world.clock.advance(99)
  t.equal(commits.length, 1)
  await world.clock.advance(1)
  t.equal(commits.length, 2)
  t.same(commits[1]?.records, 0)
  await world.clock.advance(10_000)
  t.equal(commits.length, 2)
  t.equal(log.nextLsn, 2, 'a mark takes no LSN')
  await log.append(2, recordOf(2))
  t.same(await replayedLsns(t, log), [1, 2])
  await log.close()
})

t.test('a sync mark waits for 100 ms after the last append, not the first', async (t) => {
  const world = new World()
  const records: number[] = []
  const log = await world.open({
    observer: { committed: (commit) => records.push(commit.records) },
  })
  await log.append(1, recordOf(1))
  await world.clock.advance(60)
  await log.append(2, recordOf(2))
  await world.clock.advance(60)
  t.same(records, [1, 1])
  await world.clock.advance(100)
  t.same(records, [1, 1, 0])
  await log.close()
})

t.test("the log's clock never goes back", async (t) => {
  const world = new World()
  const log = await world.open()
  await log.append(1, recordOf(1))
  const latest = world.clock.now()
  world.clock.jump(-3_600_000)
  await log.append(2, recordOf(2))
  await log.roll()
  t.equal(log.segments.at(-1)?.begunAt, latest)
  await log.close()
  const reopened = await world.open()
  t.equal(reopened.recovery.latestClockMs, latest)
  await reopened.close()
})

t.test(
  'a failed write stops the log: pending appends are rejected, and nothing is written or retried',
  async (t) => {
    const world = new World()
    const told: string[] = []
    const observer = { failed: (error: WalError) => told.push(error.code) }
    const log = await world.openWithSpare({ observer, clock: world.slowClock() })
    await log.append(1, recordOf(1))
    const isWrite = (call: DiskCall) => call.kind === 'write' && call.path.includes('.wal')
    world.disk.failWhen(isWrite, { kind: 'error', code: 'EIO' })
    // Too large for one batch: the last one waits for the batch whose write fails.
    const waiting = [recordOf(2), new Uint8Array(900), new Uint8Array(900)]
    const all = waiting.map((record, index) => rejection(log.append(2 + index, record)))
    t.same(await Promise.all(all), ['WAL_FAILED', 'WAL_FAILED', 'WAL_FAILED'])
    const calls = world.disk.callCount
    t.equal(await rejection(log.append(2, recordOf(2))), 'WAL_FAILED')
    t.throws(() => log.claim(10, 'high'), { code: 'WAL_FAILED' })
    t.equal(await rejection(log.roll()), 'WAL_FAILED')
    t.equal(world.disk.callCount, calls, 'no call reaches the disk')
    t.same(told, ['WAL_FAILED'])
    await log.close()
    const reopened = await world.open()
    t.same(await replayedLsns(t, reopened), [1])
    await reopened.close()
  },
)

t.test('a failed write on the event loop stops the log, too', async (t) => {
  const world = new World()
  const log = await world.open()
  world.disk.failWhen((call) => call.kind === 'writeOnLoop', { kind: 'error', code: 'EIO' })
  t.equal(await rejection(log.append(1, recordOf(1))), 'WAL_FAILED')
  t.equal(await rejection(log.append(1, recordOf(1))), 'WAL_FAILED')
  await log.close()
})

t.test('a short write continues where it stopped', async (t) => {
  for (const kind of ['write', 'writeOnLoop'] as const) {
    const world = new World()
    const log = await world.open(kind === 'write' ? { clock: world.slowClock() } : {})
    await appendOneByOne(log, 1)
    const isIt = (call: DiskCall) => call.kind === kind && call.path.includes('.wal')
    const fault = world.disk.failWhen(isIt, { kind: 'short-write', bytes: 30, times: 3 })
    await appendOneByOne(log, 1)
    t.equal(fault.hits, 3)
    await log.close()
    const reopened = await world.open()
    t.same(await replayedLsns(t, reopened), [1, 2], kind)
    await reopened.close()
  }
})

t.test(
  'under sync "interval" and "none" an append resolves before it is on the medium',
  async (t) => {
    for (const sync of ['interval', 'none'] as const) {
      const world = new World()
      const log = await world.open({ sync })
      t.equal(log.sync, sync)
      await appendOneByOne(log, 3)
      const unsynced = () => world.disk.pending().filter((change) => change.kind === 'sector')
      t.ok(unsynced().length > 0, 'the medium lacks something')
      if (sync === 'interval') {
        await world.clock.advance(250)
        t.same(unsynced(), [], 'the interval has synced it')
        await appendOneByOne(log, 1)
      }
      await log.close()
      t.same(unsynced(), [], 'closing syncs')
      const reopened = await world.open()
      t.same(await replayedLsns(t, reopened), range(1, sync === 'interval' ? 4 : 3))
      await reopened.close()
    }
  },
)

t.test('the defaults are those of the README', (t) => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const documented = documentedDefaults(readme)
  const { sync, syncIntervalMs, segmentBytes, appendBytesMax } = resolveOptions({})
  for (const [name, value] of Object.entries({
    sync,
    syncIntervalMs,
    segmentBytes,
    appendBytesMax,
  })) {
    t.equal(documented.get(name), value, name)
  }
  t.end()
})

t.test('an option out of range is rejected with its name and range', async (t) => {
  const world = new World()
  const bad = [
    [{ segmentBytes: 10 }, /^options.segmentBytes is 10; it must be a whole number from/],
    [{ appendBytesMax: 1.5 }, /appendBytesMax is 1.5/],
    [{ appendBytesMax: 2 ** 24 }, /appendBytesMax/],
    [{ syncIntervalMs: 0 }, /syncIntervalMs/],
    [{ sync: 'sometimes' as never }, /sync is "sometimes"; it must be one of always,/],
    [{ restored: { nextLsn: 0 } }, /restored.nextLsn/],
    [{ restored: -5 as never }, /restored is -5; it must be true or/],
    [{ restored: {} as never }, /restored.nextLsn/],
    [{ snyc: 'none' } as never, /options.snyc is not an option; it must be one of sync,/],
    [{ acceptLoss: {} as never }, /acceptLoss.segment/],
    [{ acceptLoss: { segment: -1, offset: 0 } }, /acceptLoss.segment/],
    [{ acceptLoss: { segment: 1, offset: 0.5 } }, /acceptLoss.offset/],
  ] as const
  for (const [options, message] of bad) {
    await t.rejects(world.open(options), { code: 'WAL_BAD_OPTION', message })
  }
  t.same(world.files(), [], 'nothing was written')
})

t.test('an append of anything but bytes is rejected', async (t) => {
  const log = await new World().open()
  for (const wrong of [
    'abc',
    [[1, 2, 3]],
    new ArrayBuffer(3),
    [new Uint16Array(2)],
    7,
    undefined,
    [undefined],
  ]) {
    t.equal(await rejection(log.append(1, wrong as never)), 'WAL_BAD_RECORD')
  }
  const elsewhere: Uint8Array = runInNewContext('new Uint8Array([1, 2, 3])')
  t.equal(await log.append(1, elsewhere), 1, 'an array of another realm is one')
  t.equal(await log.append(2, [elsewhere]), 2)
  await log.close()
})

t.test('a sync mark that is due while an append waits does not disturb the append', async (t) => {
  const world = new World(undefined, new SimulatedClock({ soon: 'manual' }))
  const opening = world.open()
  await world.clock.settle()
  const log = await opening
  const first = log.append(1, recordOf(1))
  await world.clock.settle()
  await first
  // The timer fires in the turn in which the next append has just arrived.
  world.clock.setTimer(100, () => {
    void log.append(2, recordOf(2))
  })
  await world.clock.advance(100)
  await world.clock.advance(1)
  t.equal(log.durableLsn, 2)
  t.same(await replayedLsns(t, log), [1, 2])
  const closing = log.close()
  await world.clock.settle()
  await closing
})

t.test('a buffer is reused only after its write has returned', async (t) => {
  // This disk reads the bytes as late as possible.
  const world = new World()
  const late = withFileMethods(world.disk.process(), (file) => ({
    async write(bytes, position) {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve()
      return file.write(bytes, position)
    },
  }))
  const large = { segmentBytes: 256 * 1024, appendBytesMax: 16 * 1024, disk: late }
  const log = await world.open({ ...large, clock: world.slowClock() })
  for (let round = 0; round < 30; round++) {
    const appends = range(0, 19).map(() => log.append(log.nextLsn, recordOf(log.nextLsn)))
    await appends[0]
  }
  await log.close()
  const reopened = await world.open(large)
  t.same(await replayedLsns(t, reopened), range(1, 600))
  await reopened.close()
})

t.test('a batch can be larger than all before, and larger than the read window', async (t) => {
  const world = new World()
  const mib = 1024 * 1024
  const large = { segmentBytes: 8 * mib, appendBytesMax: 3 * mib }
  const records = [
    recordOf(1),
    ...[2.5 * mib, mib / 2, mib / 2, mib / 2].map((bytes, index) =>
      Buffer.alloc(bytes, recordOf(index + 2)),
    ),
  ]
  const log = await world.open(large)
  await log.append(1, records.slice(0, 1))
  await log.append(2, records.slice(1, 2))
  await log.append(3, records.slice(2))
  await log.close()
  const reopened = await world.open(large)
  const replayed: Uint8Array[] = []
  for await (const run of reopened.replay()) {
    for (const record of run.records) replayed.push(record.slice())
  }
  t.equal(Buffer.compare(Buffer.concat(replayed), Buffer.concat(records)), 0)
  t.same(
    replayed.map(({ length }) => length),
    records.map(({ length }) => length),
  )
  await reopened.close()
})

/** A disk whose writes have this outcome after it is switched on. */
function worldThatWrites(outcome: () => number) {
  const world = new World()
  const state = { isBroken: false }
  const disk = withFileMethods(world.disk, (file) => ({
    async write(bytes, position) {
      return state.isBroken ? outcome() : file.write(bytes, position)
    },
    writeOnLoop: (bytes, position) =>
      state.isBroken ? outcome() : file.writeOnLoop(bytes, position),
  }))
  return { world, state, disk }
}

t.test('a disk that accepts no bytes without an error is not retried forever', async (t) => {
  for (const isSlow of [false, true]) {
    const { world, state, disk } = worldThatWrites(() => 0)
    const log = await world.open({ disk, clock: isSlow ? world.slowClock() : undefined })
    await appendOneByOne(log, 1)
    state.isBroken = true
    const refused = { code: 'WAL_FAILED', message: /the disk accepted only 0 of \d+ bytes/ }
    await t.rejects(log.append(2, recordOf(2)), refused)
    await log.close()
    await t.rejects(world.open({ disk }), { message: /the disk accepted only 0 of \d+ bytes/ })
    state.isBroken = false
    const reopened = await world.open({ disk })
    t.same(await replayedLsns(t, reopened), [1])
    await reopened.close()
  }
})
