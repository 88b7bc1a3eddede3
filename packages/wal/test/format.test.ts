import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import { nextBatchOffset, Place } from '../src/format/batch.js'
import { readUint64, viewOf, writeUint64 } from '../src/format/bytes.js'
import { extentOf, Stamps } from '../src/format/stamps.js'
import { makeCheckpoint, openLog, verifyLog } from '../src/index.js'
import { type Finding, type Remainder, sectorsIn } from '../src/scan/scanner.js'
import { describeFinding, judge } from '../src/scan/verdict.js'
import { backUp, destination, restore } from './copies.js'
import { goldenDirectory, goldenFiles, makeGoldenLog } from './fixtures/golden.js'
import { appendOneByOne, directory, range, rejection, replayedLsns, World } from './world.js'

t.test('the files of format version 1 are unchanged, byte for byte', async (t) => {
  const world = await makeGoldenLog()
  const names = goldenFiles(world)
  t.equal(names.length, 5)
  for (const name of names) {
    const golden = readFileSync(join(goldenDirectory, name))
    const made = world.disk.readFile(world.path(name))
    t.equal(Buffer.compare(golden, made), 0, name)
  }
})

t.test('a log of format version 1 opens and returns its records', async (t) => {
  const copy = join(t.testdir(), 'log')
  cpSync(goldenDirectory, copy, { recursive: true })
  t.match(await verifyLog(copy), { records: 9, lastLsn: 9, epoch: 2, damage: undefined })
  const log = await openLog(copy)
  t.equal(log.checkpointLsn, 5)
  t.equal(log.recovery.starts, 2)
  const state: string[] = []
  for await (const chunk of log.readCheckpoint()) state.push(Buffer.from(chunk).toString('latin1'))
  t.same(state, ['the state after five', '\0'.repeat(513)])
  const records: string[] = []
  for await (const run of log.replay({ fromLsn: 6 })) {
    for (const record of run.records) records.push(Buffer.from(record).toString('latin1'))
  }
  t.same(records, ['', '\0'.repeat(600), 'a record', 'record 9 '.repeat(9)])
  t.equal(log.nextLsn, 10)
  await log.close()
})

t.test('a header starts at a multiple of 8 and never crosses a stamp', async (t) => {
  const isRight = (end: number) => {
    const offset = nextBatchOffset(end)
    const isNear = offset >= end && offset - end < 80
    return (
      isNear && offset % 8 === 0 && (offset % 512) + 72 <= 512 && nextBatchOffset(offset) === offset
    )
  }
  t.same(
    range(512, 2048).filter((end) => !isRight(end)),
    [],
  )
})

t.test('records keep the bytes that stamps displace, wherever the batch begins', async (t) => {
  const stamps = new Stamps(new Uint8Array(16).fill(1), 7)
  let displaced = 0
  for (let offset = 512; offset < 1024; offset += 8) {
    if (nextBatchOffset(offset) !== offset) continue
    for (const bodyBytes of [0, 1, 440, 441, 600, 1023, 33_000]) {
      const body = Uint8Array.from({ length: bodyBytes }, (_, index) => 1 + (index % 251))
      const extent = extentOf(offset, bodyBytes)
      const bytes = new Uint8Array(extent.writtenBytes)
      bytes.set(body, 64)
      stamps.apply(bytes, offset, extent)
      if (Buffer.compare(bytes.subarray(64, 64 + bodyBytes), body) !== 0) displaced++
      for (const { sector, offset: at } of sectorsIn(bytes, offset)) {
        if (stamps.stateOf(sector, at) !== 'written') t.fail(`sector at ${at} of ${offset}`)
      }
      stamps.restore(bytes, offset, bodyBytes)
      const restored = bytes.subarray(64, 64 + bodyBytes)
      if (Buffer.compare(restored, body) !== 0) t.fail(`${bodyBytes} bytes at ${offset}`)
    }
  }
  t.ok(displaced > 200, `${displaced} batches`)
})

t.test('a record that reaches over stamps reads as it was written', async (t) => {
  const world = new World()
  const log = await world.open()
  const record = Uint8Array.from({ length: 1000 }, (_, index) => 1 + (index % 251))
  await log.append(1, record)
  for await (const { records } of log.replay()) {
    t.equal(Buffer.compare(records[0] ?? new Uint8Array(), record), 0)
  }
  await log.close()
})

t.test('a batch counts only in its log, its kind of file, its life and its place', async (t) => {
  const logId = new Uint8Array(16).fill(1)
  const crc = new Place(logId, 7).crcAt(1024)
  t.not(new Place(logId, 7).crcAt(1032), crc, 'the place')
  t.not(new Place(logId, 8).crcAt(1024), crc, 'the life')
  t.not(new Place(new Uint8Array(16), 7).crcAt(1024), crc, 'the log')
  t.not(new Place(logId, 7, 'checkpoint').crcAt(1024), crc, 'the kind of file')
})

t.test('a stamp counts only in its log, its life and its place, and with its check', async (t) => {
  const logId = new Uint8Array(16).fill(1)
  const stamps = new Stamps(logId, 7)
  const sector = new Uint8Array(512)
  t.equal(stamps.stateOf(sector, 1024), 'unwritten')
  new Stamps(logId, 7).apply(sector, 1024, { bodyBytes: 0, contentBytes: 64, writtenBytes: 512 })
  t.equal(stamps.stateOf(sector, 1024), 'written')
  t.equal(stamps.stateOf(sector, 1536), 'damaged', 'in another place')
  t.equal(new Stamps(logId, 8).stateOf(sector, 1024), 'unwritten', 'in another life')
  t.equal(new Stamps(new Uint8Array(16), 7).stateOf(sector, 1024), 'damaged', 'in another log')
  for (let bit = 504 * 8; bit < 512 * 8; bit++) {
    const flipped = sector.slice()
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    if (stamps.stateOf(flipped, 1024) !== 'damaged') t.fail(`bit ${bit}`)
  }
})

t.test('integers up to 2^53 - 1 keep their value', async (t) => {
  const view = viewOf(new Uint8Array(8))
  for (const value of [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
    writeUint64(view, 0, value)
    t.equal(readUint64(view, 0), value)
  }
})

t.test('the verdict table', async (t) => {
  const header = {
    crc: 0,
    batch: 8,
    firstLsn: 8,
    count: 1,
    bodyBytes: 0,
    bodyCrc: 0,
    chain: 0,
    epoch: 1,
    clockMs: 0,
    unsyncedBefore: 0,
    starts: 0,
  }
  const nothing: Remainder = { isWritten: false, syncedThrough: -1 }
  const sectors: Remainder = { isWritten: true, syncedThrough: -1 }
  const later = { offset: 1024, header }
  const synced: Remainder = { ...sectors, later, syncedThrough: 7 }
  const unsynced: Remainder = { ...sectors, later, syncedThrough: 6 }
  const unreadable: Remainder = { ...sectors, readError: new Error('EIO') }
  const stale: Finding = { kind: 'discontinuous', why: 'found batch 3 instead of 7' }
  const undecodable: Finding = { kind: 'undecodable', why: 'record 0 has the unknown type 9' }
  const readError: Finding = { kind: 'read-error', cause: new Error('EIO') }
  const evidence = [nothing, sectors, unsynced, synced, unreadable]
  const rows: Array<[Finding, ...string[]]> = [
    [{ kind: 'full' }, 'clean', 'clean', 'clean', 'clean', 'clean'],
    [{ kind: 'no-header' }, 'clean', 'torn', 'torn', 'corrupt', 'corrupt'],
    [{ kind: 'torn-body' }, 'torn', 'torn', 'torn', 'corrupt', 'corrupt'],
    [{ kind: 'bad-header' }, 'ambiguous', 'ambiguous', 'torn', 'corrupt', 'corrupt'],
    [{ kind: 'bad-body' }, 'ambiguous', 'ambiguous', 'torn', 'corrupt', 'corrupt'],
    [stale, 'corrupt', 'corrupt', 'corrupt', 'corrupt', 'corrupt'],
    [undecodable, 'corrupt', 'corrupt', 'corrupt', 'corrupt', 'corrupt'],
    [readError, 'corrupt', 'corrupt', 'corrupt', 'corrupt', 'corrupt'],
  ]
  for (const [finding, ...expected] of rows) {
    for (const [index, behind] of evidence.entries()) {
      const own = judge(finding, behind, 7, 'own')
      t.equal(own.kind, expected[index], `${finding.kind}: ${own.why}`)
      const copy = judge(finding, behind, 7, 'copy')
      const inCopy = expected[index] === 'ambiguous' ? 'torn' : expected[index]
      t.equal(copy.kind, inCopy, `${finding.kind} in a copy: ${copy.why}`)
    }
  }
})

t.test('every finding has words for a message', async (t) => {
  const cause = new Error('EIO')
  const words: Array<[Finding, string]> = [
    [{ kind: 'full' }, 'the end of the file'],
    [{ kind: 'no-header' }, 'no batch begins here'],
    [{ kind: 'torn-body' }, 'a body of which sectors were not written'],
    [{ kind: 'bad-header' }, 'a header with a wrong checksum'],
    [{ kind: 'bad-body' }, 'a body with a wrong checksum'],
    [
      { kind: 'discontinuous', why: 'LSN 1' },
      'a batch that is stale or in the wrong place (LSN 1)',
    ],
    [{ kind: 'undecodable', why: 'short' }, 'a batch that does not decode (short)'],
    [{ kind: 'read-error', cause }, 'an unreadable part of the file (EIO)'],
  ]
  for (const [finding, expected] of words) t.equal(describeFinding(finding), expected)
})

// ---- the count of starts

/** Opens the log, returns how many earlier opens were marked as started, and loses power. */
async function startsAfterPowerLoss(t: Test, world: World, expected: number): Promise<World> {
  const survivor = world.with(world.disk.powerLoss({ keep: () => false }))
  const log = await survivor.open()
  t.equal(log.recovery.starts, expected)
  return survivor
}

t.test('an open counts as started only after it was marked', async (t) => {
  const world = new World()
  const first = await world.open()
  t.equal(first.recovery.starts, 0)
  await first.markStarted()
  await first.close()
  // These two opens are not marked.
  for (let opening = 0; opening < 2; opening++) {
    const failed = await world.open()
    await appendOneByOne(failed, 1)
    await failed.close()
  }
  const last = await world.open()
  t.match(last.recovery, { starts: 1, epoch: 4 })
  await last.markStarted()
  await last.markStarted()
  await last.close()
  t.equal((await world.open()).recovery.starts, 2, 'and none counts twice')
})

t.test('a marked start survives every power loss', async (t) => {
  let world = new World()
  await (await world.open()).markStarted()
  world = await startsAfterPowerLoss(t, world, 1)
  world = await startsAfterPowerLoss(t, world, 1)
  await startsAfterPowerLoss(t, world, 1)
})

t.test('a start that is marked during appends shares their batch', async (t) => {
  const world = new World()
  let batches = 0
  const log = await world.open({ observer: { committed: () => void batches++ } })
  const appended = log.append(1, Buffer.from('one'))
  const marked = log.markStarted()
  const more = log.append(2, Buffer.from('two'))
  await Promise.all([appended, marked, more])
  t.ok(batches <= 2)
  const survivor = await startsAfterPowerLoss(t, world, 1)
  t.match(await survivor.verify(), { lastLsn: 2, damage: undefined })
})

t.test('the count of starts survives rolls, checkpoints, truncations and copies', async (t) => {
  const world = new World()
  for (let life = 0; life < 3; life++) {
    const log = await world.open()
    await log.markStarted()
    for (let segment = 0; segment < 2; segment++) {
      await appendOneByOne(log, 5)
      await log.roll()
      await log.writeCheckpoint(log.sealedLsn, [Buffer.from('state')])
      await log.truncate()
    }
    await log.close()
  }
  await backUp(world)
  await restore(world, '/data/restored')
  for (const place of [destination, '/data/restored']) {
    const log = await openLog(place, world.options())
    t.equal(log.recovery.starts, 3, place)
    await log.close()
  }
})

t.test('a segment without batches contains the count of starts, too', async (t) => {
  const world = new World()
  const log = await world.open()
  await log.markStarted()
  await appendOneByOne(log, 5)
  await log.roll()
  // The checkpoint is made by a process that read no batch, and its records are not read again.
  await makeCheckpoint(directory, 5, [Buffer.from('state')], world)
  await startsAfterPowerLoss(t, world, 1)
})

t.test('after an accepted loss the count of starts comes from the remaining part', async (t) => {
  const world = new World()
  for (let life = 0; life < 2; life++) {
    const log = await world.open()
    await log.markStarted()
    await appendOneByOne(log, 5)
    await log.close()
  }
  world.disk.flipBit(world.path(world.segments()[0]!), 8 * 800)
  const acceptLoss = (await world.verify()).damage!.acceptable!
  const log = await world.open({ acceptLoss })
  t.equal(log.recovery.starts, 1)
  await log.close()
})

t.test('a start mark takes no LSN and does not appear in a replay', async (t) => {
  const world = new World()
  const log = await world.open()
  await log.markStarted()
  t.equal(log.nextLsn, 1)
  await log.roll()
  t.equal(log.segments.length, 1, 'a segment without records is not sealed')
  await appendOneByOne(log, 3)
  await log.close()
  const again = await world.open()
  t.same(await replayedLsns(t, again), range(1, 3))
})

t.test('a closed or failed log does not count a start', async (t) => {
  const world = new World()
  const log = await world.open()
  await log.close()
  t.equal(await rejection(log.markStarted()), 'WAL_CLOSED')
  const failing = await world.open()
  world.disk.failWhen(({ kind }) => kind === 'writeOnLoop', {
    kind: 'error',
    code: 'EIO',
  })
  t.equal(await rejection(failing.markStarted()), 'WAL_FAILED')
  t.equal((await new World(SimulatedDisk.from(world.disk.snapshot())).open()).recovery.starts, 0)
})
