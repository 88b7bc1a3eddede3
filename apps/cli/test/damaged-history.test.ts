import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '@tenure/client'
import { startCoordinator } from '@tenure/coordinator-server'
import { openLog } from '@tenure/wal'
import t, { type Test } from 'tap'
import type { Finding } from '../src/verbs/log/doctor/diagnose.js'
import { golden } from './golden.js'
import {
  filesIn,
  firstLsnOf,
  log,
  makeDirectory,
  manyTasks,
  segmentsOf,
  writeSmall,
} from './log-world.js'

/** A damaged byte before the newest good checkpoint: restarts skip it, but reading the history does not. */
async function damaged(t: Test): Promise<string> {
  const directory = makeDirectory(t)
  await writeSmall(directory, manyTasks(), [100])
  const second = segmentsOf(directory)[1]!
  const bytes = Buffer.from(filesIn(directory).get(second)!)
  bytes[1500] = (bytes[1500] ?? 0) ^ 1
  writeFileSync(join(directory, second), bytes)
  return directory
}

const steady = (text: string, directory: string) =>
  text
    .replaceAll(directory, '<directory>')
    .replaceAll(/\b[0-9a-f]{32}\b/g, '<id>')
    .replaceAll(/[\d,]+\/s/g, '<rate>/s')

const range = /LSN 45 to 70 cannot be read .*which the checkpoint at LSN 100 covers/

t.test('every verb reports damage that a checkpoint covers in the same way', async (t) => {
  const directory = await damaged(t)
  const before = filesIn(directory)
  const verified = await log(['log', 'verify', directory])
  t.equal(verified.code, 1)
  golden(t, 'log/verify-history', steady(verified.stdout, directory))
  const doctor = await log(['log', 'doctor', directory])
  t.match(doctor, { code: 0, stdout: range, stderr: '' })
  t.notMatch(doctor.stdout, /nothing to do|accept-loss/)
  golden(t, 'log/doctor-history', steady(doctor.stdout, directory))
  const { historyDamage } = JSON.parse(
    (await log(['log', 'doctor', directory, '--json'])).stdout,
  ) as Finding
  t.match(historyDamage, [{ firstMissingLsn: 45, lastMissingLsn: 70, coveredBy: 100 }])
  t.match(await log(['log', 'stat', directory]), {
    code: 0,
    stdout: /190, LSN 1 to 44 and LSN 71 to 216\n.*LSN 45 to 70 cannot be read/s,
  })
  t.match(await log(['stats', '--log', directory]), { code: 0 })
  t.match(await log(['get', '3', '--log', directory]), { code: 0 })
  t.match(await log(['list', '--log', directory]), { code: 0 })
  const backup = await log(['backup', directory, '--to', `${makeDirectory(t)}/copy`])
  t.match(backup, { code: 1, stdout: '', stderr: range })
  t.match(backup.stderr, /tenure log doctor .* shows how to remove the damaged part/)
  t.notMatch(backup.stderr, /accept-loss/)
  t.same(filesIn(directory), before, 'nothing was changed')
})

t.test('history before and after the damage is shown', async (t) => {
  const directory = await damaged(t)
  const dumped = await log(['log', 'dump', directory, '--from', '71'])
  t.match(dumped, { code: 0, stderr: '', stdout: /^{"lsn":71,/ })
  const all = await log(['log', 'dump', directory])
  t.match(all, { code: 1, stdout: /"lsn":44,/, stderr: /records after LSN 70 can be read/ })
  t.match(await log(['log', 'dump', directory, '--last', '1']), { stdout: /^{"lsn":216,/ })

  const ended = await log(['explain', `${directory}#1`])
  t.match(ended, { code: 0, stdout: /^Task 1 ran once: .* completed it/, stderr: range })
  t.notMatch(ended.stdout, /remembered/, 'all its records precede the damage')
  const across = await log(['explain', `${directory}#38`])
  t.match(across, { code: 0, stdout: /^Task 38 .*\(remembered\)/s, stderr: range })
  const behind = await log(['explain', `${directory}#181`])
  t.match(behind, { code: 0, stdout: /^Task 181 /, stderr: '' })
  const picture = join(makeDirectory(t), 'one.svg')
  t.match(await log(['timeline', `${directory}#1`, '--out', picture]), { code: 0, stderr: range })
})

t.test('the coordinator can drop damaged history, after which backup works again', async (t) => {
  const directory = await damaged(t)
  await using coordinator = await startCoordinator({
    dataDir: directory,
    port: 0,
    httpPort: false,
    checkpoints: { historyMs: 0, historyBytesMax: 0 },
  })
  const { port } = coordinator
  const at = ['--coordinator', `127.0.0.1:${port}`]
  const told = await log(['explain', '5', ...at])
  t.match(told, {
    code: 0,
    stdout: /^Task 5 /,
    stderr: /reading the log failed.* The following is what the coordinator remembers/s,
  })
  const tenure = await connect({ endpoints: [`127.0.0.1:${port}`] })
  await tenure.submit(Buffer.from('something new'))
  t.match(await log(['checkpoint', ...at]), { code: 0 })
  await tenure.close()
  t.match(await log(['log', 'verify', directory]), { code: 0 })
  t.match(await log(['log', 'doctor', directory]), { stdout: /nothing to do/ })
  t.match(await log(['backup', directory, '--to', `${makeDirectory(t)}/copy`]), { code: 0 })
})

t.test('segments before a gap that a checkpoint covers can be moved away', async (t) => {
  const directory = makeDirectory(t)
  await writeSmall(directory, manyTasks(), [100])
  const [first, second] = segmentsOf(directory)
  rmSync(join(directory, second!))
  const doctor = await log(['log', 'doctor', directory])
  t.match(doctor, { code: 0, stdout: /not linked to the rest.*mv .*/s })
  t.match(doctor.stdout, `mv ${directory}/${first} <elsewhere>`)
  rmSync(join(directory, first!))
  t.match(await log(['log', 'verify', directory]), { code: 0 })
  t.match(await log(['log', 'doctor', directory]), { stdout: /nothing to do/ })
})

const gap = /LSN 101 to 160 cannot be read .*which the checkpoint at LSN 160 covers/

/** Fails unless every verb reports the gap after the older checkpoint, and nothing else. */
async function checkReported(t: Test, directory: string): Promise<void> {
  t.match(await log(['log', 'verify', directory]), { code: 1, stdout: gap, stderr: '' })
  const doctor = await log(['log', 'doctor', directory])
  t.match(doctor, { code: 0, stdout: gap, stderr: '' })
  t.match(doctor.stdout, /only a part of the history\n.*run tenure checkpoint once/s)
  t.notMatch(doctor.stdout, /nothing to do|accept-loss/)
  t.match(await log(['log', 'stat', directory]), { code: 0, stdout: gap })
  t.match(await log(['log', 'dump', directory]), { code: 1, stderr: gap })
  t.match(await log(['log', 'dump', directory, '--from', '161']), { code: 0, stderr: '' })
  t.match(await log(['explain', `${directory}#1`]), { code: 0, stdout: /remembered/, stderr: gap })
  t.match(await log(['stats', '--log', directory]), { code: 0 })
  const backup = await log(['backup', directory, '--to', `${makeDirectory(t)}/copy`])
  t.match(backup, { code: 1, stdout: '', stderr: gap })
  await (await openLog(directory)).close()
}

t.test(
  'every verb reports segments missing after the older checkpoint in the same way',
  async (t) => {
    const directory = makeDirectory(t)
    await writeSmall(directory, manyTasks(), [100, 160])
    for (const name of segmentsOf(directory)) {
      if (firstLsnOf(directory, name) <= 160) rmSync(join(directory, name))
    }
    await checkReported(t, directory)
  },
)

t.test(
  'every verb reports an accepted loss that leaves only checkpoints in the same way',
  async (t) => {
    const directory = makeDirectory(t)
    await writeSmall(directory, manyTasks(), [100, 160])
    for (const name of segmentsOf(directory)) rmSync(join(directory, name))
    const { place } = JSON.parse((await log(['log', 'doctor', directory, '--json'])).stdout)
    t.match(await log(['log', 'doctor', directory, '--accept-loss', place]), { code: 0 })
    t.match(await log(['log', 'verify', directory]), { stdout: /^records +none$/m })
    await checkReported(t, directory)
  },
)

t.test('a damaged header that a checkpoint covers is not a loss to accept', async (t) => {
  const directory = makeDirectory(t)
  await writeSmall(directory, manyTasks(), [100, 160])
  const name = segmentsOf(directory).find((name) => firstLsnOf(directory, name) === 101)!
  const bytes = Buffer.from(filesIn(directory).get(name)!)
  bytes[100] = (bytes[100] ?? 0) ^ 1
  writeFileSync(join(directory, name), bytes)
  const doctor = await log(['log', 'doctor', directory])
  t.match(doctor, { code: 0, stdout: /LSN 101 to 134 cannot be read .*header fails its checksum/ })
  t.match(doctor.stdout, `mv ${directory}/${name} <elsewhere>`)
  t.notMatch(doctor.stdout, /accept-loss/)
  t.match(await log(['log', 'verify', directory]), { code: 1, stdout: /LSN 101 to 134/ })
})

t.test('an older checkpoint left by an interrupted truncation is not a fault', async (t) => {
  const directory = makeDirectory(t)
  await writeSmall(directory, manyTasks(), [72, 100, 160])
  for (const name of segmentsOf(directory)) {
    if (firstLsnOf(directory, name) <= 100) rmSync(join(directory, name))
  }
  t.match(await log(['log', 'verify', directory]), { code: 0, stdout: /LSN 160: equal/ })
  t.match(await log(['log', 'doctor', directory]), { stdout: /nothing to do/ })
  t.match(await log(['backup', directory, '--to', `${makeDirectory(t)}/copy`]), { code: 0 })
})

t.test('accepting the same loss again changes nothing', async (t) => {
  const directory = makeDirectory(t)
  await writeSmall(directory, manyTasks())
  const second = segmentsOf(directory)[1]!
  writeFileSync(join(directory, second), filesIn(directory).get(second)!.fill(0, 600, 700))
  const { place } = JSON.parse((await log(['log', 'doctor', directory, '--json'])).stdout)
  t.match(await log(['log', 'doctor', directory, '--accept-loss', place]), { code: 0 })
  const before = filesIn(directory)
  const again = await log(['log', 'doctor', directory, '--accept-loss', place])
  t.match(again, { code: 0, stdout: /^this loss was accepted before/, stderr: '' })
  t.same(filesIn(directory), before, 'nothing was changed')
  await (await openLog(directory)).close()
})

t.test('every verb reports a missing log in the same words', async (t) => {
  const nosuch = join(makeDirectory(t), 'nosuch')
  const other = makeDirectory(t)
  writeFileSync(join(other, 'notes.txt'), 'not a log')
  for (const verb of ['stat', 'verify', 'dump', 'doctor', 'whatif']) {
    const missing = `tenure: directory ${nosuch} does not exist; use the --data-dir of a coordinator\n`
    t.match(await log(['log', verb, nosuch]), { code: 2, stdout: '', stderr: missing }, verb)
    const none = `tenure: ${other} does not contain a log; use the --data-dir of a coordinator\n`
    t.match(await log(['log', verb, other]), { code: 2, stdout: '', stderr: none }, verb)
  }
})
