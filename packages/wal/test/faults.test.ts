import { type Fault, type PowerLossPolicy, Random, type SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import { type Disk, type Log, type SyncMode, WalError } from '../src/index.js'
import {
  appendOneByOne,
  appendTogether,
  codeOf,
  range,
  recordOf,
  replayedLsns,
  World,
} from './world.js'

/** The events that an observer outside the process has seen. */
interface History {
  acknowledged: number
  issued: number
  checkpoint: number
}

/** Small segments, so that the scenario rolls often. */
const options = { segmentBytes: 2048, appendBytesMax: 1024 }

/** Exercises everything: both kinds of appends, marks, rolls, checkpoints, truncation, a restart. */
async function live(
  world: World,
  history: History,
  disk: Disk = world.disk,
  sync: SyncMode = 'always',
): Promise<void> {
  // One epoch writes on the event loop, the other through the thread pool.
  const log = await world.open({ ...options, sync, disk, clock: world.slowClock() })
  const append = async (count: number, together: boolean) => {
    history.issued = log.nextLsn + count - 1
    const lsn = await (together ? appendTogether(log, count) : appendOneByOne(log, count))
    history.acknowledged = Math.max(history.acknowledged, lsn)
  }
  await append(3, false)
  await append(4, true)
  await world.clock.advance(100)
  await append(12, false)
  await log.roll()
  await checkpoint(log, history)
  await append(6, true)
  await append(10, false)
  await log.roll()
  await checkpoint(log, history)
  await log.truncate()
  await append(2, false)
  await log.close()
  const second = await world.open({ ...options, sync, disk })
  history.issued = second.nextLsn
  history.acknowledged = await appendOneByOne(second, 1)
  await second.close()
}

async function checkpoint(log: Log, history: History): Promise<void> {
  const lsn = log.sealedLsn
  await log.writeCheckpoint(lsn, [Buffer.from(`state after ${lsn}`), new Uint8Array(600)])
  history.checkpoint = lsn
}

/** How many disk calls the scenario makes without a fault, on a fresh disk. */
async function callsOfALife(): Promise<number> {
  const world = new World()
  await live(world, { acknowledged: 0, issued: 0, checkpoint: 0 })
  return world.disk.callCount
}

/** Compares what the log contains after the fault with what it had promised. */
async function examineSurvivor(
  t: Test,
  world: World,
  history: History,
  what: string,
): Promise<void> {
  let log: Log
  try {
    log = await world.open(options)
  } catch (error) {
    t.fail(`${what}: refused with ${codeOf(error)}: ${(error as Error).message}`)
    return
  }
  if (log.durableLsn < history.acknowledged) {
    t.fail(
      `${what}: LSN ${history.acknowledged} was acknowledged, the log ends at ${log.durableLsn}`,
    )
  }
  if (log.durableLsn > history.issued) {
    t.fail(`${what}: LSN ${log.durableLsn} was never issued, only ${history.issued}`)
  }
  if (log.checkpointLsn < history.checkpoint) t.fail(`${what}: a checkpoint is lost`)
  const chunks: string[] = []
  for await (const chunk of log.readCheckpoint()) chunks.push(Buffer.from(chunk).toString())
  if (log.checkpointLsn > 0 && chunks[0] !== `state after ${log.checkpointLsn}`) {
    t.fail(`${what}: the checkpoint says "${chunks[0]}"`)
  }
  const lsns = await replayedLsns(t, log, log.firstLsn)
  const expected = range(log.firstLsn, log.durableLsn)
  if (lsns.length !== expected.length) t.same(lsns, expected, what)
  if (log.firstLsn > log.checkpointLsn + 1)
    t.fail(`${what}: records behind the checkpoint are gone`)
  // The log continues.
  const next = log.nextLsn
  await appendOneByOne(log, 2)
  await log.close()
  const again = await world.open(options)
  if (again.nextLsn !== next + 2) t.fail(`${what}: then LSN ${next + 2} is lost`)
  await again.close()
}

/**
 * Runs the scenario until the fault strikes, or to its end. A run that waits for space on a full
 * disk is abandoned after a while. Only errors with a code may come out.
 */
async function liveThrough(
  t: Test,
  world: World,
  what: string,
  disk?: Disk,
  sync?: SyncMode,
): Promise<History> {
  const history: History = { acknowledged: 0, issued: 0, checkpoint: 0 }
  let isOver = false
  const life = live(world, history, disk, sync)
    .catch((error: unknown) => {
      // Failures before the log is open, or in a checkpoint, carry the code of the disk.
      const isTyped = error instanceof WalError || (error instanceof Error && 'code' in error)
      if (!isTyped) t.fail(`${what}: ${String(error)}`)
    })
    .finally(() => {
      isOver = true
    })
  for (let waits = 0; waits < 4; waits++) {
    await Promise.race([life, world.clock.settle()])
    if (isOver) break
    await Promise.race([life, world.clock.advance(1000)])
  }
  return { ...history }
}

t.test(
  'after a failure of any disk call, once or permanently, the log opens with every acknowledged record',
  async (t) => {
    const calls = await callsOfALife()
    const faults: Fault[] = [
      { kind: 'error', code: 'EIO' },
      { kind: 'error', code: 'EIO', times: 'forever' },
      { kind: 'error', code: 'ENOSPC' },
      { kind: 'error', code: 'ENOSPC', times: 'forever' },
      { kind: 'short-write', bytes: 7 },
    ]
    let cases = 0
    for (const fault of faults) {
      for (let index = 0; index < calls; index++) {
        const what = `${JSON.stringify(fault)} at call ${index}`
        const world = new World()
        world.disk.failCall(index, fault)
        const history = await liveThrough(t, world, what)
        world.disk.heal()
        await examineSurvivor(t, world.with(world.disk.powerLoss('keep-none')), history, what)
        cases++
      }
    }
    t.comment(`${calls} calls, ${faults.length} faults, ${cases} cases`)
    t.ok(cases > 1000)
  },
)

t.test('a disk that reads and writes only a few bytes at a time works', async (t) => {
  for (const kind of ['short-write', 'short-read'] as const) {
    const world = new World()
    const fault = world.disk.failCall(0, { kind, bytes: 100, times: 'forever' })
    const history = await liveThrough(t, world, kind)
    t.ok(fault.hits > 100, `${kind}: ${fault.hits} times`)
    world.disk.heal()
    t.equal(history.acknowledged, history.issued)
    await examineSurvivor(t, world, history, kind)
  }
})

t.test(
  'after a power loss at any disk call, with any pending writes kept, the log opens with every acknowledged record',
  async (t) => {
    const calls = await callsOfALife()
    const random = new Random(2026)
    let cases = 0
    for (let index = 0; index < calls; index++) {
      for (const when of ['before', 'after'] as const) {
        const world = new World()
        world.disk.failCall(index, { kind: 'crash', when })
        const history = await liveThrough(t, world, `crash ${when} call ${index}`)
        const policies: PowerLossPolicy[] = [
          'keep-none',
          'keep-all',
          { random },
          { random },
          { random },
        ]
        for (const policy of policies) {
          const disk = world.disk.powerLoss(policy)
          const what = `crash ${when} call ${index} (${JSON.stringify(world.disk.calls[index]?.kind)}), ${JSON.stringify(policy)}`
          await examineSurvivor(t, world.with(disk), history, what)
          cases++
        }
      }
    }
    t.comment(`${calls} calls, ${cases} cases`)
    t.ok(cases > 1000)
  },
)

t.test('a second power loss at any call of recovery loses no acknowledged record', async (t) => {
  const random = new Random(7)
  let cases = 0
  const world = new World()
  const history: History = { acknowledged: 0, issued: 0, checkpoint: 0 }
  const log = await world.open(options)
  history.acknowledged = await appendOneByOne(log, 9)
  world.disk.failWhen((call) => call.kind.startsWith('write') && call.path.includes('.wal'), {
    kind: 'crash',
    when: 'before',
  })
  history.issued = 11
  await appendTogether(log, 2).catch(() => {})
  const torn = world.with(
    world.disk.powerLoss({
      keep: (change) => change.kind !== 'sector' || change.sector % 2 === 1,
    }),
  )
  const recovering = torn.copy()
  await (await recovering.open(options)).close()
  for (let index = 0; index < recovering.disk.callCount; index++) {
    for (const when of ['before', 'after'] as const) {
      const again = torn.copy()
      again.disk.failCall(index, { kind: 'crash', when })
      try {
        await (await again.open(options)).close()
      } catch (error) {
        codeOf(error)
      }
      for (const policy of ['keep-none', 'keep-all', { random }] as const) {
        const what = `crash ${when} call ${index} of recovery`
        await examineSurvivor(t, again.with(again.disk.powerLoss(policy)), history, what)
        cases++
      }
    }
  }
  t.comment(`${cases} cases`)
  t.ok(cases > 50)
})

t.test(
  'a failed sync stops the log, and acknowledged records survive a power loss after the restart',
  async (t) => {
    const calls = await callsOfALife()
    const random = new Random(11)
    let cases = 0
    for (const model of ['clean-page', 'reverted', 'dead'] as const) {
      for (let index = 0; index < calls; index++) {
        const world = new World()
        const landed = () => random.chance(0.5)
        const fault = world.disk.failCall(index, { kind: 'failed-sync', model, landed })
        const what = `${model} at call ${index}`
        const process = world.disk.process()
        const history = await liveThrough(t, world, what, process)
        process.kill()
        if (fault.hits === 0) continue
        world.disk.heal()
        // The process restarts with a page cache that may contain data that is not on the medium …
        const reopened = await restart(t, world.disk, what)
        if (reopened === undefined) continue
        history.acknowledged = Math.max(history.acknowledged, reopened.durableLsn)
        history.issued = Math.max(history.issued, reopened.durableLsn)
        // … and everything that it then reports must be on the medium.
        await examineSurvivor(t, world.with(world.disk.powerLoss('keep-none')), history, what)
        cases++
      }
    }
    t.comment(`${cases} failed syncs`)
    t.ok(cases > 50)
  },
)

async function restart(t: Test, disk: SimulatedDisk, what: string): Promise<Log | undefined> {
  try {
    return await new World(disk).open({ ...options, disk: disk.process() })
  } catch (error) {
    t.fail(`${what}: the restart was refused with ${codeOf(error)}: ${(error as Error).message}`)
    return undefined
  }
}

t.test(
  'after a disk has reported a failed sync too late, the log reports no LSN that was not issued',
  async (t) => {
    const world = new World()
    const log = await world.open(options)
    await appendOneByOne(log, 2)
    const isWrite = { kind: 'failed-sync', model: 'late' } as const
    world.disk.failWhen((call) => call.kind === 'writeOnLoop', isWrite)
    await log.append(3, recordOf(3))
    await log.append(4, recordOf(4)).catch((error: unknown) => t.equal(codeOf(error), 'WAL_FAILED'))
    const survivor = world.with(world.disk.powerLoss('keep-none'))
    const reopened = await survivor.open(options)
    t.same(await replayedLsns(t, reopened), [1, 2], 'a lie that nothing on the disk can tell')
    await reopened.close()
  },
)

t.test(
  'under the weaker sync modes a power loss at any call is not damage, and sealed segments survive it',
  async (t) => {
    const random = new Random(5)
    let cases = 0
    for (const sync of ['interval', 'none'] as const) {
      const rehearsal = new World()
      await live(rehearsal, { acknowledged: 0, issued: 0, checkpoint: 0 }, rehearsal.disk, sync)
      for (let index = 0; index < rehearsal.disk.callCount; index++) {
        const world = new World()
        world.disk.failCall(index, { kind: 'crash', when: 'after' })
        const what = `${sync}, crash after call ${index}`
        const history = await liveThrough(t, world, what, world.disk, sync)
        // Only the records in a checkpoint are guaranteed: their segment was sealed and therefore
        // synced.
        history.acknowledged = history.checkpoint
        for (const policy of ['keep-none', { random }, { random }] as const) {
          await examineSurvivor(t, world.with(world.disk.powerLoss(policy)), history, what)
          cases++
        }
      }
    }
    t.comment(`${cases} cases`)
    t.ok(cases > 1000)
  },
)
