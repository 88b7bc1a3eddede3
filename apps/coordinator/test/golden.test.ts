import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { createState, encodeRecord, encodeState } from '@tenure/state-machine'
import { openLog, verifyLog } from '@tenure/wal'
import t, { type Test } from 'tap'
import { CoordinatorProcess, makeDataDir, runToEnd } from './coordinator-process.js'
import { factsOf, filesIn, goldenDirectory, goldenFacts, makeGolden } from './fixtures/golden.js'

const facts = JSON.parse(readFileSync(goldenFacts, 'utf8'))

/** A data directory as version 1 left it. */
function copyOfGolden(t: Test): string {
  const dataDir = makeDataDir(t)
  cpSync(goldenDirectory, dataDir, { recursive: true })
  return dataDir
}

t.test('a data directory of version 1 has the same contents for this version', async (t) => {
  t.same(await factsOf(copyOfGolden(t)), facts)
  t.equal(Object.keys(facts.records).length, 9, 'records of every type')
  t.equal(facts.hash, facts.hashByCheckpoint)
})

/** Its tasks ended long ago. */
const keepAll = ['--retention', '100000d']

t.test('a coordinator starts on a data directory of version 1', async (t) => {
  const { started } = await CoordinatorProcess.start(t, copyOfGolden(t), keepAll)
  const { openings, tasks } = facts
  t.match(started, { epoch: openings.length + 1, tasks: tasks.length })
})

t.test('this version writes the same bytes as the kept files', async (t) => {
  const dataDir = makeDataDir(t)
  await makeGolden(dataDir)
  t.same(filesIn(dataDir), filesIn(goldenDirectory))
})

/** Uses free ports in case it starts unexpectedly. */
function runOn(t: Test, dataDir: string) {
  return runToEnd(t, ['--data-dir', dataDir, '--port', '0', '--http-port', 'off'])
}

/** Sets a future format version in the file, with a matching checksum. */
function makeNewer(path: string, headers: readonly number[], headerBytes: number): void {
  const bytes = readFileSync(path)
  for (const at of headers) {
    const header = bytes.subarray(at, at + headerBytes)
    if (header.readUInt32LE(12) === 0) continue
    header.writeUInt32LE(2, 12)
    header.writeUInt32LE(crc32(header.subarray(12)), 8)
  }
  writeFileSync(path, bytes)
}

const newerFiles = {
  'wal/0000000000000001-00000001.wal': { headers: [0], headerBytes: 512 },
  'wal/0000000000000004-00000003.wal': { headers: [0], headerBytes: 512 },
  'checkpoint/0000000000000006.ckpt': { headers: [0], headerBytes: 512 },
  HEAD: { headers: [0, 512], headerBytes: 56 },
} as const

for (const [name, { headers, headerBytes }] of Object.entries(newerFiles)) {
  t.test(`a newer ${name} is rejected, and nothing is changed`, async (t) => {
    const dataDir = copyOfGolden(t)
    makeNewer(join(dataDir, name), headers, headerBytes)
    const before = filesIn(dataDir)
    const { code, stdout, stderr } = await runOn(t, dataDir)
    t.equal(code, 3)
    t.match(stdout + stderr, /WAL_NEWER_FORMAT/)
    t.match(stdout + stderr, /has format version 2; .* Open the log with the release that wrote it/)
    t.same(filesIn(dataDir), before)
  })
}

/** The version follows the head of a MessagePack array, at the start of the encoding. */
function newer(bytes: Uint8Array): Uint8Array {
  const changed = bytes.slice()
  changed[1] = 2
  return changed
}

/** Opening creates a segment of a new epoch before a record is read; existing files stay unchanged. */
async function checkRefused(t: Test, dataDir: string, code: string, words: RegExp): Promise<void> {
  const before = filesIn(dataDir)
  const { code: exitCode, stdout, stderr } = await runOn(t, dataDir)
  t.equal(exitCode, 3)
  t.equal(JSON.parse(stdout.trim().split('\n').at(-1)!).code, code)
  t.match(stderr + stdout, words)
  const after = filesIn(dataDir)
  for (const [name, bytes] of before) if (name !== 'HEAD') t.same(after.get(name), bytes)
  t.match(await verifyLog(dataDir), { damage: undefined, tornTail: undefined })
}

t.test('a newer record is rejected and kept', async (t) => {
  const dataDir = copyOfGolden(t)
  const log = await openLog(dataDir)
  await log.append(log.nextLsn, newer(encodeRecord({ type: 'TasksForgotten', at: 1, through: 1 })))
  await log.close()
  const words =
    /the record has version 2; this release reads version 1\. Use the release that wrote it/
  await checkRefused(t, dataDir, 'HISTORY_UNREADABLE_RECORD', words)
})

t.test('a newer state in a checkpoint is rejected and kept', async (t) => {
  const dataDir = copyOfGolden(t)
  const log = await openLog(dataDir)
  const [chunk] = encodeState(createState())
  await log.writeCheckpoint(log.sealedLsn, [newer(chunk!)])
  await log.close()
  const words = /its version is 2; this release reads version 1\. Use a newer release/
  await checkRefused(t, dataDir, 'STATE_MALFORMED_CHUNK', words)
})
