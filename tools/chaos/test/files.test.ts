import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeRecord, type LogRecord } from '@tenure/state-machine'
import t, { type Test } from 'tap'
import { readCoordinatorReport, Tail } from '../src/evidence/coordinator-lines.js'
import { readLines } from '../src/evidence/lines.js'
import { isSameRecord, RecordFile, readRecords } from '../src/evidence/record-file.js'
import { FaultJournal, type FaultLine } from '../src/faults/fault-journal.js'
import { isDiskFullExit } from '../src/fleet/fleet.js'

function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-chaos-test-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return directory
}

async function listOf<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of source) items.push(item)
  return items
}

function completed(number: number): LogRecord {
  const ids = { at: number, taskId: number, leaseId: number }
  return { type: 'TaskCompleted', ...ids, result: Buffer.alloc(50_000 + number, number) }
}

t.test('records are read as they were written, across many chunks', async (t) => {
  const path = join(makeDirectory(t), 'records')
  const file = new RecordFile(path)
  const records = Array.from({ length: 60 }, (_, index) => completed(index + 1))
  file.append(1, records.slice(0, 7).map(encodeRecord))
  file.append(8, records.slice(7).map(encodeRecord))
  file.close()
  const found = await listOf(readRecords(path))
  t.same(
    found.map(({ lsn }) => lsn),
    records.map((_, index) => index + 1),
  )
  t.ok(found.every(({ record }, index) => isSameRecord(record, records[index]!)))
  t.notOk(isSameRecord(records[0]!, records[1]!))
  appendFileSync(path, 'half')
  await t.rejects(listOf(readRecords(path)), /ends in the middle of a record/)
})

t.test('a last line without a line feed is ignored', async (t) => {
  const path = join(makeDirectory(t), 'lines.jsonl')
  appendFileSync(path, '{"n":1}\n{"n":2}\n{"n":')
  t.same(await listOf(readLines(path)), [{ n: 1 }, { n: 2 }])
  appendFileSync(path, 'x}\n')
  await t.rejects(listOf(readLines(path)), /lines\.jsonl:3 is not valid JSON/)
})

t.test('a tail reads new lines, and continues with the file of the next life', async (t) => {
  const directory = makeDirectory(t)
  let life = 1
  const pathOf = () => join(directory, `${life}.jsonl`)
  const tail = new Tail(pathOf)
  t.same(tail.read(), [])
  appendFileSync(pathOf(), '{"msg":"one"}\n{"msg":')
  t.same(tail.read(), [{ msg: 'one' }])
  appendFileSync(pathOf(), '"two"}\n')
  t.same(tail.read(), [{ msg: 'two' }])
  life = 2
  appendFileSync(pathOf(), '{"msg":"three"}\n')
  t.same(tail.read(), [{ msg: 'three' }])
})

t.test('a checkpoint without an end was interrupted', async (t) => {
  const directory = makeDirectory(t)
  const lives = [
    ['started', 'making a checkpoint', 'checkpoint made', 'making a checkpoint'],
    ['started', 'making a checkpoint', 'checkpoint failed; retrying'],
  ]
  for (const [index, words] of lives.entries()) {
    const epoch = index + 1
    const lines = words.map((msg) =>
      JSON.stringify({ msg, epoch, restarts: index, lastLsn: 9 * index, replayed: 0 }),
    )
    appendFileSync(join(directory, `${epoch}.jsonl`), `${lines.join('\n')}\n`)
  }
  t.same(await readCoordinatorReport(directory), {
    starts: [
      { epoch: 1, restarts: 0 },
      { epoch: 2, restarts: 1 },
    ],
    checkpoints: { made: 1, cut: 1, starts: 1 },
  })
})

t.test('a fault is written when it ends, and a full disk is known immediately', async (t) => {
  const path = join(makeDirectory(t), 'faults.jsonl')
  const journal = new FaultJournal(path)
  t.notOk(journal.wasFullWithin(60_000))
  await journal.record('fill', 'disk', async () => {
    t.ok(journal.wasFullWithin(0))
    t.same(await listOf(readLines(path)), [])
  })
  t.ok(journal.wasFullWithin(60_000))
  t.notOk(journal.wasFullWithin(-1))
  t.equal(journal.fills, 1)
  const [line] = await listOf(readLines<FaultLine>(path))
  t.match(line, { kind: 'fill', target: 'disk', fromMs: Number, toMs: Number })
})

t.test('only a start on a full disk may fail for lack of space', async (t) => {
  const exit = { code: 1, signal: null }
  const noRoom = { msg: 'startup failed: … without room for another segment', code: 'WAL_NO_SPACE' }
  const noRoomForExpiries = {
    msg: 'startup failed: the disk has no space to record expired leases',
    code: 'COORDINATOR_FAILED',
  }
  t.ok(isDiskFullExit(exit, noRoom, true))
  t.ok(isDiskFullExit(exit, noRoomForExpiries, true))
  t.notOk(isDiskFullExit(exit, noRoom, false), 'the disk had space')
  t.notOk(isDiskFullExit({ ...exit, code: 3 }, noRoom, true), 'it says that the log is damaged')
  t.notOk(isDiskFullExit(exit, { msg: 'log failed: EIO' }, true), 'it ran, and should go on')
  t.notOk(isDiskFullExit(exit, { msg: 'startup failed: EIO', code: 'EIO' }, true))
  t.notOk(isDiskFullExit(exit, undefined, true))
})
