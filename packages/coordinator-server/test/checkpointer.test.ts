import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import {
  type CheckpointKnobs,
  defaultCheckpointKnobs,
  historyStart,
} from '../src/checkpoints/checkpoint-knobs.js'
import type { MadeCheckpoint } from '../src/checkpoints/checkpoint-maker.js'
import { Checkpointer } from '../src/checkpoints/checkpointer.js'
import { logBytesBound, replayMs } from '../src/checkpoints/replay-estimate.js'
import { GrowingLog, SlowMaker } from './growing-log.js'

const mib = 2 ** 20

/** A log that consists of its figures only, and a maker that the test completes. */
class World {
  readonly clock = new SimulatedClock()
  readonly asked: number[] = []
  readonly truncated: { readonly verified: readonly number[]; readonly keepFromLsn: number }[] = []
  readonly told: unknown[] = []
  isDiskFull = false
  rolls = 0
  cannotTruncate: Error | undefined
  cannotWrite: Error | undefined
  readonly log = {
    nextLsn: 1,
    sealedLsn: 0,
    checkpointLsn: 0,
    gaps: [] as { firstLsn: number; lastLsn: number }[],
    segments: [{ firstLsn: 1, bytes: 1024, usedBytes: 1024, begunAt: 0 }],
    roll: async () => {
      this.rolls++
      this.log.sealedLsn = this.log.nextLsn - 1
    },
    writeCheckpoint: async () => {
      if (this.cannotWrite !== undefined) throw this.cannotWrite
    },
    truncate: async (options: World['truncated'][number]) => {
      this.truncated.push(options)
      if (this.cannotTruncate !== undefined) throw this.cannotTruncate
      this.log.checkpointLsn = Math.max(this.log.checkpointLsn, options.verified[0] ?? 0)
      return { segments: 1, bytes: 1024, checkpoints: 0 }
    },
  }
  settle: { resolve(made: MadeCheckpoint): void; reject(error: Error): void } | undefined
  readonly checkpointer: Checkpointer

  constructor(knobs: Partial<CheckpointKnobs> = {}) {
    this.checkpointer = new Checkpointer({
      log: this.log,
      clock: this.clock,
      knobs: { ...defaultCheckpointKnobs, replayMsMax: 5000, ...knobs },
      isDiskFull: () => this.isDiskFull,
      maker: {
        make: (lsn) => {
          this.asked.push(lsn)
          return new Promise((resolve, reject) => {
            this.settle = { resolve, reject }
          })
        },
        hurry: () => this.told.push('hurry'),
        stop: async () => this.settle?.reject(new Error('aborted')),
      },
      observer: {
        checkpointed: ({ lsn }) => this.told.push(lsn),
        historyRemoved: (removed) => this.told.push(removed),
        checkpointFailed: (error) => this.told.push((error as Error).message),
      },
    })
  }

  /** A world with a recent checkpoint and a log of three segments of this size. */
  static async checkpointed(bytes: number, knobs: Partial<CheckpointKnobs> = {}): Promise<World> {
    const world = new World(knobs)
    world.log.nextLsn = 31
    const making = world.checkpointer.make()
    await world.clock.settle()
    await world.finish()
    await making
    world.truncated.length = 0
    world.told.length = 0
    const begunAt = world.clock.now()
    world.log.segments.splice(
      0,
      1,
      ...[1, 11, 21].map((firstLsn) => ({ firstLsn, bytes, usedBytes: bytes, begunAt })),
    )
    return world
  }

  async tick(): Promise<void> {
    this.checkpointer.tick()
    await this.clock.settle()
  }

  async tendFor(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.clock.advance(1000)
      await this.tick()
    }
  }

  async finish(replayMs = 1): Promise<void> {
    const lsn = this.asked.at(-1)!
    const took = { replayed: lsn, replayMs, writeMs: 0 }
    this.settle!.resolve({ lsn, good: [lsn], tasks: 1, ...took })
    await this.clock.settle()
  }
}

t.test(
  'a checkpoint is due when half of the replay budget is used since the last one',
  async (t) => {
    const world = new World()
    world.log.nextLsn = 1_000_000
    await world.tick()
    t.same(world.asked, [])
    world.log.nextLsn = 1_000_001
    await world.tick()
    t.same(world.asked, [1_000_000])
    world.log.nextLsn = 1_400_000
    await world.tick()
    t.equal(world.asked.length, 1, 'one at a time')
    await world.finish()
    t.same(world.told, ['hurry', 1_000_000])
    t.match(world.truncated, [{ verified: [1_000_000] }])
    await world.tick()
    t.equal(world.asked.length, 1)
    world.log.nextLsn = 2_000_001
    await world.tick()
    t.same(world.asked, [1_000_000, 2_000_000])
  },
)

t.test(
  'the first checkpoint is hurried until it is made, because its duration is unknown',
  async (t) => {
    const world = new World()
    world.log.nextLsn = 1_000_001
    await world.tick()
    t.same(world.told, [])
    await world.tick()
    t.same(world.told, ['hurry'])
    await world.tick()
    t.same(world.told, ['hurry', 'hurry'])
    await world.finish()
  },
)

t.test(
  'a checkpoint is hurried if it would finish too late, given the duration of the last one',
  async (t) => {
    const world = new World()
    world.log.nextLsn = 1_000_001
    await world.tick()
    await world.clock.advance(10_000)
    await world.finish(2000)
    world.told.length = 0
    world.log.nextLsn += 1_000_000
    await world.tick()
    t.equal(world.asked.length, 2)
    // Each second adds a quarter second of replay: in 2 s, plus twice the 2 s that a checkpoint takes, 1.5 s.
    for (let second = 1; second <= 3; second++) {
      await world.clock.advance(1000)
      world.log.nextLsn += 100_000
      await world.tick()
    }
    t.same(world.told, [], '2.5 s, plus three times a quarter second')
    await world.clock.advance(1000)
    world.log.nextLsn += 100_000
    await world.tick()
    t.same(world.told, ['hurry'])
    await world.finish()
  },
)

t.test(
  'a checkpoint starts earlier if half of the replay budget would not suffice until it is made',
  async (t) => {
    const world = new World()
    world.log.nextLsn = 1_000_001
    await world.tick()
    await world.clock.advance(6000)
    await world.finish(6000)
    for (let second = 1; second <= 3; second++) {
      await world.clock.advance(1000)
      world.log.nextLsn += 150_000
      await world.tick()
    }
    t.equal(world.asked.length, 1)
    world.log.nextLsn += 50_000
    await world.tick()
    t.equal(world.asked.length, 2, 'at least a quarter of the budget is used')
  },
)

t.test('LSNs that were never issued do not count as replay', async (t) => {
  const world = new World()
  world.log.nextLsn = 4_000_000_001
  world.log.gaps.push({ firstLsn: 1000, lastLsn: 4_000_000_000 })
  await world.tick()
  t.same(world.asked, [])
})

t.test('large records count by their bytes', async (t) => {
  const world = new World()
  world.log.nextLsn = 100
  const usedBytes = 700 * mib
  world.log.segments.push({ firstLsn: 50, bytes: usedBytes, usedBytes, begunAt: 0 })
  await world.tick()
  t.same(world.asked, [99])
})

t.test('the zeros of the current segment do not count as replay', async (t) => {
  const world = await World.checkpointed(64 * mib, { replayMsMax: 10 })
  world.log.segments.push({ firstLsn: 31, bytes: 64 * mib, usedBytes: 5000, begunAt: 0 })
  for (let task = 0; task < 20; task++) {
    world.log.nextLsn++
    await world.tendFor(1)
  }
  t.equal(world.asked.length, 1, 'only the requested checkpoint')
})

t.test('a failed checkpoint is reported and retried after a delay', async (t) => {
  const world = new World()
  world.log.nextLsn = 3_000_000
  await world.tick()
  world.settle!.reject(new Error('no room'))
  await world.clock.settle()
  t.same(world.told, ['no room'])
  await world.clock.advance(59_000)
  await world.tick()
  t.equal(world.asked.length, 1)
  await world.clock.advance(1000)
  await world.tick()
  t.equal(world.asked.length, 2)
})

t.test('a retry after a failure needs no file of its own', async (t) => {
  const world = new World()
  world.log.nextLsn = 2_000_001
  await world.tick()
  for (let attempt = 0; attempt < 3; attempt++) {
    world.settle!.reject(new Error('no room'))
    world.log.nextLsn += 10
    await world.tendFor(61)
  }
  t.same(world.asked, [2_000_000, 2_000_000, 2_000_000, 2_000_000])
  t.equal(world.rolls, 1)
})

t.test('a requested checkpoint is hurried', async (t) => {
  const world = new World()
  world.log.nextLsn = 10
  const made = world.checkpointer.make()
  await world.clock.settle()
  t.same(world.told, ['hurry'])
  await world.tick()
  t.same(world.told, ['hurry', 'hurry'], 'until it is made')
  await world.finish()
  t.equal((await made).lsn, 9)
})

t.test(
  'a request during a running checkpoint gets a later one with the state of its arrival',
  async (t) => {
    const world = new World()
    world.log.nextLsn = 1_000_001
    await world.tick()
    world.log.nextLsn += 10
    const both = Promise.all([world.checkpointer.make(), world.checkpointer.make()])
    t.same(world.told, ['hurry'], 'the running checkpoint')
    await world.finish()
    t.same(world.asked, [1_000_000, 1_000_010])
    world.log.nextLsn += 10
    const third = world.checkpointer.make()
    await world.finish()
    const [one, other] = await both
    t.equal(one.lsn, 1_000_010)
    t.equal(other, one, 'a second request shares it')
    await world.finish()
    t.equal((await third).lsn, 1_000_020)
  },
)

t.test('a requested checkpoint is made even if the one before it fails', async (t) => {
  const world = new World()
  world.log.nextLsn = 1_000_001
  await world.tick()
  const made = world.checkpointer.make()
  world.settle!.reject(new Error('no luck'))
  await world.clock.settle()
  await world.finish()
  t.equal((await made).lsn, 1_000_000)
})

t.test('a checkpoint without new records does nothing', async (t) => {
  const world = new World()
  const made = await world.checkpointer.make()
  t.match(made, { lsn: 0, replayed: 0, removed: { segments: 0 } })
  t.same([world.asked, world.truncated], [[], []])
})

t.test('on a full disk history that no restart needs is removed, once', async (t) => {
  const world = await World.checkpointed(1024)
  await world.tendFor(2)
  t.same(world.truncated, [], 'there is no other reason')
  world.isDiskFull = true
  await world.tendFor(5)
  t.same(world.truncated, [{ verified: [30], keepFromLsn: Number.MAX_SAFE_INTEGER }])
  t.same(world.told, [{ segments: 1, bytes: 1024, checkpoints: 0 }])
})

t.test('a disk that was full before the first tick is trimmed, too', async (t) => {
  const world = new World()
  world.isDiskFull = true
  await world.tick()
  t.same(world.truncated, [], 'without a checkpoint every segment is needed')
  world.log.checkpointLsn = 20
  world.log.nextLsn = 31
  await world.tick()
  t.match(world.truncated, [{ verified: [], keepFromLsn: Number.MAX_SAFE_INTEGER }])
})

t.test('a checkpoint that finishes while the disk is full leaves no history', async (t) => {
  const world = await World.checkpointed(1024)
  world.log.nextLsn = 41
  const making = world.checkpointer.make()
  await world.clock.settle()
  world.isDiskFull = true
  await world.tick()
  await world.finish()
  await making
  const keepFromLsn = Number.MAX_SAFE_INTEGER
  t.match(world.truncated, [
    { verified: [30], keepFromLsn },
    { verified: [40], keepFromLsn },
  ])
})

t.test('a failure to remove history is reported and retried after a delay', async (t) => {
  const world = await World.checkpointed(1024)
  world.isDiskFull = true
  world.cannotTruncate = new Error('no luck')
  await world.tendFor(30)
  t.same(world.told, ['no luck'])
  world.cannotTruncate = undefined
  await world.tendFor(31)
  t.equal(world.truncated.length, 2)
})

t.test('a checkpoint verified long ago is read back again before history is removed', async (t) => {
  const world = await World.checkpointed(1024)
  await world.clock.advance(601_000)
  world.isDiskFull = true
  await world.tick()
  t.match(world.truncated, [{ verified: [] }])
})

t.test('history over its limits is removed without a new checkpoint', async (t) => {
  const old = await World.checkpointed(1024, { historyMs: 3_600_000 })
  old.log.segments.push({ ...old.log.segments[0]!, firstLsn: 31 })
  await old.tendFor(3)
  t.same(old.truncated, [])
  await old.clock.advance(3_600_000)
  await old.tick()
  t.match(old.truncated, [{ keepFromLsn: 31 }])

  const large = await World.checkpointed(1024, { historyBytesMax: 3000 })
  await large.tick()
  t.match(large.truncated, [{ keepFromLsn: 11 }])
  await large.tendFor(100)
  t.equal(large.truncated.length, 1, 'needed segments are not checked again and again')
  large.log.segments.shift()
  large.log.checkpointLsn = 35
  await large.tick()
  t.equal(large.truncated.length, 1, 'now it is small enough')
  large.log.segments.push({ ...large.log.segments[0]!, firstLsn: 41 })
  await large.tick()
  t.match(large.truncated.at(-1), { keepFromLsn: 21 })
  t.same(large.told, [])
})

t.test('stopping aborts running checkpoints, and that is not a failure', async (t) => {
  const world = new World()
  world.log.nextLsn = 10
  const making = world.checkpointer.make()
  making.catch(() => {})
  await world.clock.settle()
  const behind = world.checkpointer.make()
  await Promise.all([
    t.rejects(making, /aborted/),
    t.rejects(behind, /makes no checkpoint while it stops/),
    world.checkpointer.stop(),
  ])
  t.same(world.told, ['hurry', 'hurry'])
  world.log.nextLsn = 10_000_000
  await world.tick()
  t.equal(world.asked.length, 1)
})

t.test('stopping aborts a checkpoint during its roll', async (t) => {
  const world = new World()
  world.log.nextLsn = 10
  const making = world.checkpointer.make()
  await Promise.all([
    t.rejects(making, /makes no checkpoint while it stops/),
    world.checkpointer.stop(),
  ])
  t.same(world.asked, [])
  t.same(world.told, [])
})

t.test('history is kept while it is within both limits', (t) => {
  const segments = [
    { firstLsn: 1, bytes: 100, begunAt: 0 },
    { firstLsn: 11, bytes: 100, begunAt: 1000 },
    { firstLsn: 21, bytes: 100, begunAt: 2000 },
    { firstLsn: 31, bytes: 100, begunAt: 3000 },
  ]
  const kept = (historyMs: number, historyBytesMax: number) =>
    historyStart(segments, { historyMs, historyBytesMax }, 3500)
  t.equal(kept(10_000, 10_000), 1)
  t.equal(kept(2500, 10_000), 1, 'the first segment ended 2.5 s ago')
  t.equal(kept(2499, 10_000), 11)
  t.equal(kept(10_000, 400), 1)
  t.equal(kept(10_000, 399), 11)
  t.equal(kept(10_000, 200), 21)
  t.equal(kept(0, 0), 31, 'the current segment stays')
  t.end()
})

// ---- bounds

interface Load {
  readonly knobs: Partial<CheckpointKnobs>
  readonly segmentBytes: number
  readonly recordsPerSecond: number
  readonly recordBytes: number
  /** The duration of a checkpoint: a constant, plus a time per million records ever written. */
  readonly workMs: number
  readonly workMsPerMillion: number
}

const loads: Readonly<Record<string, Load>> = {
  'large records and little to replay': {
    knobs: { replayMsMax: 500, historyBytesMax: 400 * mib },
    segmentBytes: 4 * mib,
    recordsPerSecond: 1500,
    recordBytes: 20_000,
    workMs: 300,
    workMsPerMillion: 0,
  },
  'small records on a machine that has no time': {
    knobs: { replayMsMax: 1000, historyBytesMax: 0 },
    segmentBytes: 64 * mib,
    recordsPerSecond: 30_000,
    recordBytes: 120,
    workMs: 3000,
    workMsPerMillion: 0,
  },
  'tasks that pile up, by default': {
    knobs: {},
    segmentBytes: 64 * mib,
    recordsPerSecond: 20_000,
    recordBytes: 200,
    workMs: 200,
    workMsPerMillion: 3000,
  },
  'large payloads, by default': {
    knobs: {},
    segmentBytes: 64 * mib,
    recordsPerSecond: 1000,
    recordBytes: 64 * 1024,
    workMs: 1000,
    workMsPerMillion: 0,
  },
  'no history': {
    knobs: { replayMsMax: 200, historyBytesMax: 0, historyMs: 0 },
    segmentBytes: mib,
    recordsPerSecond: 2000,
    recordBytes: 1000,
    workMs: 100,
    workMsPerMillion: 10,
  },
}

for (const [name, load] of Object.entries(loads)) {
  t.test(`replay time and log size stay within their limits: ${name}`, async (t) => {
    const knobs = { ...defaultCheckpointKnobs, ...load.knobs }
    const { made, mostMs, mostBytes } = await run(load, knobs)
    t.ok(made > 2, `${made} checkpoints`)
    t.ok(mostMs <= knobs.replayMsMax, `${Math.round(mostMs)} ms`)
    t.ok(mostBytes <= logBytesBound(knobs, load.segmentBytes), `${mostBytes / mib} MiB`)
  })
}

async function run(load: Load, knobs: CheckpointKnobs) {
  const clock = new SimulatedClock()
  const log = new GrowingLog(load.segmentBytes, clock)
  const { workMs, workMsPerMillion } = load
  const maker = new SlowMaker(log, (lsn) => workMs + (workMsPerMillion * lsn) / 1e6)
  let made = 0
  const observer = { checkpointed: () => made++ }
  const checkpointer = new Checkpointer({
    log,
    clock,
    knobs,
    maker,
    observer,
    isDiskFull: () => false,
  })
  log.onRolled = () => checkpointer.tick()
  let mostMs = 0
  let mostBytes = 0
  for (let tenths = 1; tenths <= 3000; tenths++) {
    log.append(load.recordsPerSecond / 10, load.recordBytes)
    maker.pass(100)
    await clock.advance(100)
    if (tenths % 10 === 0) checkpointer.tick()
    mostMs = Math.max(mostMs, replayMs(log))
    mostBytes = Math.max(mostBytes, log.bytes)
  }
  return { made, mostMs, mostBytes }
}
