import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { nextBatchOffset } from '../src/format/batch.js'
import { readUint64, viewOf, writeUint64 } from '../src/format/bytes.js'
import { openLog, verifyLog } from '../src/index.js'
import type { Finding, Remainder } from '../src/read/scanner.js'
import { judge } from '../src/read/verdict.js'
import { goldenDirectory, goldenFiles, makeGoldenLog } from './fixtures/golden.js'
import { range } from './world.js'

t.test('the files of format version 1 are what they were, byte for byte', async (t) => {
  const world = await makeGoldenLog()
  const names = goldenFiles(world)
  t.equal(names.length, 5)
  for (const name of names) {
    const golden = readFileSync(join(goldenDirectory, name))
    const made = world.disk.readFile(world.path(name))
    t.equal(Buffer.compare(golden, made), 0, name)
  }
})

t.test('a log of format version 1 opens, and gives back what was written', async (t) => {
  const directory = join(t.testdir(), 'log')
  cpSync(goldenDirectory, directory, { recursive: true })
  t.match(await verifyLog(directory), { records: 9, lastLsn: 9, epoch: 2, damage: undefined })
  const log = await openLog(directory)
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

t.test('a header starts at a multiple of 8 and never crosses a sector', async (t) => {
  const isRight = (end: number) => {
    const offset = nextBatchOffset(end)
    const isNear = offset >= end && offset - end < 72
    return (
      isNear && offset % 8 === 0 && (offset % 512) + 64 <= 512 && nextBatchOffset(offset) === offset
    )
  }
  t.same(
    range(512, 2048).filter((end) => !isRight(end)),
    [],
  )
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
    zeroSectors: 0,
    clockMs: 0,
    unsyncedBefore: 0,
    starts: 0,
  }
  const nothing: Remainder = { nonZero: false, contentEnd: 512, syncedThrough: -1 }
  const something: Remainder = { nonZero: true, contentEnd: 600, syncedThrough: -1 }
  const later = { offset: 1024, header }
  const proof: Remainder = { ...something, later, syncedThrough: 7 }
  const unsynced: Remainder = { ...something, later, syncedThrough: 6 }
  const unreadable: Remainder = { ...something, readError: new Error('EIO') }
  const full: Finding = { kind: 'full' }
  const zeroHeader: Finding = { kind: 'zero-header' }
  const badHeader: Finding = { kind: 'bad-header' }
  const holes: Finding = { kind: 'bad-body', unexplainedZeroSectors: true }
  const noHoles: Finding = { kind: 'bad-body', unexplainedZeroSectors: false }
  const stale: Finding = { kind: 'discontinuous', why: 'batch 3 stands where 7 should' }
  const undecodable: Finding = { kind: 'undecodable', why: 'record 0 has the unknown type 9' }
  const readError: Finding = { kind: 'read-error', cause: new Error('EIO') }
  const rows: Array<[Finding, Remainder, string]> = [
    [full, nothing, 'clean'],
    [zeroHeader, nothing, 'clean'],
    [zeroHeader, something, 'torn'],
    [zeroHeader, proof, 'corrupt'],
    [zeroHeader, unsynced, 'torn'],
    [holes, nothing, 'torn'],
    [holes, something, 'torn'],
    [holes, proof, 'corrupt'],
    [holes, unsynced, 'torn'],
    [noHoles, something, 'ambiguous'],
    [noHoles, proof, 'corrupt'],
    [noHoles, unsynced, 'torn'],
    [badHeader, something, 'ambiguous'],
    [badHeader, proof, 'corrupt'],
    [stale, something, 'corrupt'],
    [undecodable, nothing, 'corrupt'],
    [readError, nothing, 'corrupt'],
    [zeroHeader, unreadable, 'corrupt'],
  ]
  for (const [finding, behind, expected] of rows) {
    const verdict = judge(finding, behind, 7)
    t.equal(verdict.kind, expected, `${finding.kind}: ${verdict.why}`)
  }
})
