import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { connect } from '@tenure/client'
import { startCoordinator } from '@tenure/coordinator-server'
import { encodeRecord, encodeState, type LogRecord } from '@tenure/state-machine'
import { writeLog } from '@tenure/testing-histories'
import { openLog, WalError } from '@tenure/wal'
import t, { type Test } from 'tap'
import { explainLogError } from '../src/log/directory.js'
import { golden } from './golden.js'
import {
  filesIn,
  log,
  makeDirectory,
  manyTasks,
  segmentsOf,
  stateAfter,
  twoTasks,
  writeSmall,
} from './log-world.js'

/** Replaces the speed, the age and the directory. */
function steady(text: string, directory: string): string {
  return text
    .replaceAll(directory, '<directory>')
    .replaceAll(/[\d,]+\/s/g, '<rate>/s')
    .replaceAll(/"recordsPerSecond":\d+/g, '"recordsPerSecond":<rate>')
    .replaceAll(/[\d.]+ (ms|s|min|h|d) ago/g, '<age> ago')
}

async function written(t: Test, options = {}): Promise<string> {
  const directory = makeDirectory(t)
  await writeLog(directory, twoTasks(), options)
  return directory
}

t.test('the output of verify for a good log', async (t) => {
  const directory = await written(t)
  const shown = await log(['log', 'verify', directory])
  t.match(shown, { code: 0, stderr: '' })
  golden(t, 'log/verify', steady(shown.stdout, directory))
  const json = await log(['log', 'verify', directory, '--json'])
  golden(t, 'log/verify.json', steady(json.stdout, directory))
  const coloured = await log(['log', 'verify', directory], { isTTY: true })
  golden(t, 'log/verify.terminal', steady(coloured.stdout, directory))
})

t.test(
  'verify reports checkpoints that it cannot compare because records were removed',
  async (t) => {
    const directory = await written(t, { checkpoints: [5, 8], firstLsn: 2 })
    const shown = await log(['log', 'verify', directory])
    t.match(shown, { code: 0, stderr: '' })
    golden(t, 'log/verify-removed', steady(shown.stdout, directory))
  },
)

const change = (directory: string, name: string, at: number) => {
  const bytes = Buffer.from(filesIn(directory).get(name)!)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(join(directory, name), bytes)
}

t.test('every kind of damage is reported with its place and exit code 1', async (t) => {
  const kinds: [what: string, act: (directory: string) => void, said: RegExp][] = [
    [
      'a byte in the middle',
      (directory) => change(directory, segmentsOf(directory)[1]!, 1500),
      /^error +wal\/\d{16}-\d{8}\.wal at byte \d+: a body with a wrong checksum, where/m,
    ],
    [
      'a segment cut short',
      (directory) => truncateSync(join(directory, segmentsOf(directory)[1]!), 1024),
      /^error +wal\/.*it has 1024 bytes instead of the 4096 in its header$/m,
    ],
    [
      'a segment removed',
      (directory) => rmSync(join(directory, segmentsOf(directory)[1]!)),
      /^error +wal\/.*segment 2, which precedes it, is missing$/m,
    ],
    [
      'a checkpoint changed',
      (directory) => change(directory, 'checkpoint/0000000000000060.ckpt', 700),
      /^error +0000000000000060\.ckpt cannot be used: /m,
    ],
    [
      'HEAD removed',
      (directory) => rmSync(join(directory, 'HEAD')),
      /^error +HEAD: it is missing/m,
    ],
  ]
  for (const [what, act, said] of kinds) {
    const directory = makeDirectory(t)
    await writeSmall(directory, manyTasks(), what.includes('checkpoint') ? [60] : [])
    act(directory)
    const shown = await log(['log', 'verify', directory])
    t.match(shown, { code: 1, stdout: said, stderr: '' }, what)
    t.match(shown.stdout, /^verdict +damaged$/m, what)
    t.equal(
      JSON.parse((await log(['log', 'verify', directory, '--json'])).stdout).verdict,
      'damaged',
    )
  }
})

t.test(
  'a record that breaks a rule under good checksums is reported with exit code 1',
  async (t) => {
    const directory = await written(t)
    const wal = await openLog(directory)
    const late: LogRecord = {
      type: 'TaskDead',
      at: Date.UTC(2027, 0, 1),
      taskId: 1,
      reason: 'late',
    }
    await wal.append(wal.nextLsn, encodeRecord(late))
    await wal.close()
    const shown = await log(['log', 'verify', directory])
    t.match(shown, {
      code: 1,
      stderr: '',
      stdout: /^error +TaskDead at LSN 9: task must not be terminal/m,
    })
    t.match(shown.stdout, /^verdict +its records break a rule$/m)
    const doctor = await log(['log', 'doctor', directory])
    t.match(doctor, { code: 1, stdout: /^broken +TaskDead at LSN 9: /m })
    t.notMatch(doctor.stdout, '--accept-loss')
  },
)

t.test('a checkpoint with a wrong state under good checksums is exit code 1', async (t) => {
  const book = twoTasks()
  const directory = makeDirectory(t)
  await writeLog(directory, book)
  const wal = await openLog(directory)
  await wal.writeCheckpoint(8, encodeState(stateAfter(book, 7)))
  await wal.close()
  const shown = await log(['log', 'verify', directory])
  t.match(shown, {
    code: 1,
    stdout: /^error +the checkpoint at LSN 8 differs from the replayed state: /m,
  })
})

t.test('an unfinished write is not damage', async (t) => {
  const directory = await written(t)
  const [, newest] = segmentsOf(directory)
  const bytes = Buffer.from(filesIn(directory).get(newest!)!)
  bytes.fill(7, 8192, 8300)
  writeFileSync(join(directory, newest!), bytes)
  const shown = await log(['log', 'verify', directory])
  t.match(shown, { code: 0, stdout: /^end +the header is missing, .* nothing is lost/m })
  t.match(await log(['log', 'doctor', directory]), {
    code: 0,
    stdout: /^end +the header is missing/m,
  })
})

t.test('verify finds no fault in the log of a coordinator under load', async (t) => {
  const dataDir = makeDirectory(t)
  const coordinator = await startCoordinator({
    dataDir,
    port: 0,
    httpPort: false,
    log: { sync: 'none' },
  })
  const tenure = await connect({ endpoints: [`127.0.0.1:${coordinator.port}`] })
  const submit = async () => {
    for (let left = 150; left > 0; left--) await tenure.submit(Buffer.from('x'.repeat(500)))
  }
  for (let look = 0; look < 20; look++) {
    // Two submitters, so that a batch is always in flight.
    const load = Promise.all([submit(), submit()])
    const shown = await log(['log', 'verify', dataDir])
    t.match(shown, { code: 0, stderr: '' }, shown.stdout)
    t.match(await log(['log', 'doctor', dataDir]), { code: 0 })
    await load
  }
  await tenure.close()
  await coordinator.stop()
  t.match(await log(['log', 'verify', dataDir]), { code: 0 })
})

t.test('an unreadable log is one line with the remedy, and exit code 2', async (t) => {
  const empty = makeDirectory(t)
  const refusals: [args: string[], complaint: RegExp][] = [
    [
      ['verify', '/nowhere/log'],
      /^tenure: directory \/nowhere\/log does not exist; use the --data-dir of a coordinator\n$/,
    ],
    [['stat', empty], /^tenure: .* does not contain a log; use the --data-dir of a coordinator\n$/],
    [['dump', process.execPath], /^tenure: .* is not a directory.*\n$/],
    [['doctor', empty, '--accept-loss', '1:512'], /^tenure: .* does not contain a log; .*\n$/],
    [
      ['dump', empty, '--from', 'noon'],
      /^tenure log dump: --from is "noon"; it must be an LSN \(17\), .*\n$/,
    ],
    [
      ['doctor', empty, '--accept-loss', '512'],
      /^tenure log doctor: --accept-loss is "512"; it must be .*\n$/,
    ],
  ]
  for (const [args, complaint] of refusals) {
    t.match(await log(['log', ...args]), { code: 2, stdout: '', stderr: complaint }, args.join(' '))
  }
  t.equal(filesIn(empty).size, 0, 'nothing was created')
})

t.test('a log with a newer format requires a newer tenure', async (t) => {
  const directory = await written(t)
  for (const name of segmentsOf(directory)) {
    const bytes = Buffer.from(filesIn(directory).get(name)!)
    bytes.writeUInt32LE(99, 12)
    bytes.writeUInt32LE(crc32(bytes.subarray(12, 512)), 8)
    writeFileSync(join(directory, name), bytes)
  }
  const shown = await log(['log', 'verify', directory])
  t.match(shown, {
    code: 2,
    stdout: '',
    stderr: /^tenure: .* has format version 99; .*use a newer tenure\n$/,
  })
})

t.test('the output of stat', async (t) => {
  const directory = await written(t, { checkpoints: [5, 8], firstLsn: 2 })
  const whole = await written(t)
  golden(t, 'log/stat', steady((await log(['log', 'stat', whole])).stdout, whole))
  golden(t, 'log/stat.json', steady((await log(['log', 'stat', whole, '--json'])).stdout, whole))
  golden(t, 'log/stat-removed', steady((await log(['log', 'stat', directory])).stdout, directory))
  golden(
    t,
    'log/stat.terminal',
    steady((await log(['log', 'stat', whole], { isTTY: true, columns: 80 })).stdout, whole),
  )
})

t.test('a permission error names the remedy, and other errors pass through', (t) => {
  const forbidden = Object.assign(new Error('no'), { code: 'EACCES', syscall: 'open' })
  t.match(explainLogError(forbidden, 'data'), {
    message: /^no permission to read data; /,
    isFailure: false,
  })
  const removed = new WalError('WAL_FORGOTTEN', 'LSN 3 is gone', { remedy: 'Call a function' })
  t.match(explainLogError(removed, 'data'), {
    message: /^LSN 3 is gone\. .*; run the command again$/,
  })
  t.equal(explainLogError(new Error('a fault'), 'data'), undefined)
  t.equal(explainLogError(Object.assign(new Error('x'), { code: 'ERR_X' }), 'data'), undefined)
  t.end()
})
