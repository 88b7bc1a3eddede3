import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startCoordinator } from '@tenure/coordinator-server'
import { openHistory } from '@tenure/history'
import { getTask, hashState, listTasks } from '@tenure/state-machine'
import { writeLog } from '@tenure/testing-histories'
import { openLog } from '@tenure/wal'
import t, { type Test } from 'tap'
import type { Finding } from '../src/verbs/log/doctor/diagnose.js'
import { golden } from './golden.js'
import {
  copyOf,
  filesIn,
  firstLsnOf,
  log,
  makeDirectory,
  manyTasks,
  segmentsOf,
  stateAfter,
  twoTasks,
  withoutZeros,
  writeSmall,
  writtenFrom,
} from './log-world.js'

const book = manyTasks()

/** Ways to damage a log; each names what was done. */
function* damages(directory: string): Generator<[what: string, act: (directory: string) => void]> {
  const change = (name: string, at: number) => (copy: string) => {
    const bytes = Buffer.from(filesIn(copy).get(name)!)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(join(copy, name), bytes)
  }
  const segments = segmentsOf(directory)
  for (const name of segments.filter((_, at) => at % 2 === 0)) {
    const { length } = withoutZeros(filesIn(directory).get(name)!)
    yield [`a byte of the header of ${name}`, change(name, 40)]
    for (let at = 600; at < length; at += 2531) yield [`byte ${at} of ${name}`, change(name, at)]
    yield [`${name} cut`, (copy) => truncateSync(join(copy, name), 1024)]
  }
  for (const name of segments.slice(1, 4)) {
    yield [`${name} removed`, (copy) => rmSync(join(copy, name))]
  }
  yield ['the newest segment removed', (copy) => rmSync(join(copy, segments.at(-1)!))]
  yield ['HEAD removed', (copy) => rmSync(join(copy, 'HEAD'))]
}

/** Logs with and without a checkpoint. */
async function damagedLogs(t: Test) {
  const found: [what: string, directory: string, act: (directory: string) => void][] = []
  for (const checkpoints of [[], [30]]) {
    const directory = makeDirectory(t)
    await writeSmall(directory, book, checkpoints)
    for (const [what, act] of damages(directory)) found.push([what, directory, act])
  }
  return found
}

const covers = (ranges: readonly { firstLsn: number; lastLsn: number }[], lsn: number) =>
  ranges.some(({ firstLsn, lastLsn }) => firstLsn <= lsn && lsn <= lastLsn)

t.test(
  'accepting a loss removes exactly what doctor predicted, and keeps it in quarantine',
  async (t) => {
    const lastLsn = book.nextLsn - 1
    const full = book.state
    let damaged = 0
    for (const [what, directory, damage] of await damagedLogs(t)) {
      const copy = copyOf(t, directory)
      damage(copy)
      const before = filesIn(copy)
      const told = await log(['log', 'doctor', copy, '--json'])
      const finding = JSON.parse(told.stdout) as Finding
      t.same(filesIn(copy), before, `${what}: diagnosing changes nothing`)
      t.equal(told.code, finding.verdict === 'opens' ? 0 : 1, what)
      if (finding.verdict === 'opens') continue
      damaged++
      const loss = finding.loss!
      const kept = loss.keptThrough
      const isTold = (lsn: number) => covers(loss.readable, lsn)
      const isDoubtful = (lsn: number) => covers(loss.unreadable, lsn) || lsn > loss.lastKnownLsn

      const lost = book.entries.slice(kept)
      t.ok(
        lost.every(({ lsn }) => isTold(lsn) !== isDoubtful(lsn)),
        `${what}: every LSN is accounted for`,
      )
      const known = stateAfter(book, kept)
      const vanished = [...listTasks(full)].map(({ taskId }) => taskId).filter((id) => id > kept)
      const vanishing = loss.vanishing.map(({ taskId }) => taskId)
      t.same(
        vanishing.filter((id) => !vanished.includes(id)),
        [],
        `${what}: no other task is lost`,
      )
      t.same(
        vanished.filter((id) => !vanishing.includes(id) && !isDoubtful(id)),
        [],
        `${what}: all lost tasks are reported`,
      )

      const isOpen = (state?: string) => state === 'WAITING' || state === 'LEASED'
      const open = [...listTasks(known)].filter(({ state }) => isOpen(state))
      const undone = open.filter(({ taskId }) => !isOpen(getTask(full, taskId)?.state))
      for (const { taskId } of undone) {
        const end = getTask(full, taskId)!
        const said = loss.undone.find((one) => one.taskId === taskId)
        if (isTold(end.endedLsn!))
          t.match(said, { ended: end.state, lsn: end.endedLsn! }, `${what}: ${taskId} runs again`)
        else
          t.ok(
            loss.open.some((one) => one.taskId === taskId),
            `${what}: ${taskId} may have ended`,
          )
      }
      const undoneIds = undone.map(({ taskId }) => taskId)
      t.same(
        loss.undone.filter(({ taskId }) => !undoneIds.includes(taskId)),
        [],
        `${what}: no other runs again`,
      )

      const [segment, offset] = finding.place!.split(':').map(Number)
      const other = await log(['log', 'doctor', copy, '--accept-loss', `${segment}:${offset! + 8}`])
      t.match(
        other,
        { code: 2, stdout: '', stderr: /^tenure: the log is not damaged at this place/ },
        what,
      )
      t.notMatch(other.stderr, finding.place!, `${what}: the right place is not revealed`)
      t.same(filesIn(copy), before, `${what}: another place changes nothing`)
      const done = await log(['log', 'doctor', copy, '--accept-loss', finding.place!])
      t.match(done, { code: 0, stdout: /^the loss is accepted/, stderr: '' }, what)
      const after = await (await openHistory(copy)).stateAt()
      t.equal(hashState(after), hashState(known), `${what}: the state is that of LSN ${kept}`)
      const files = filesIn(copy)
      for (const { file, offset } of finding.cutOff) {
        const bytes = writtenFrom(before.get(file)!, offset)
        if (bytes.length === 0 && offset > 0) continue
        const name = file.slice('wal/'.length)
        const place = `quarantine/${name}${offset > 0 ? `.${offset}.tail` : ''}`
        t.ok(
          withoutZeros(files.get(place)!).equals(
            offset > 0 ? bytes : withoutZeros(before.get(file)!),
          ),
          `${what}: all of ${file} is in ${place}`,
        )
      }
      t.equal((await log(['log', 'doctor', copy])).code, 0, `${what}: it opens`)
      const verified = await log(['log', 'verify', copy])
      t.equal(verified.code, 0, `${what}: it is whole again\n${verified.stdout}`)
      const wal = await openLog(copy)
      t.ok(wal.nextLsn > lastLsn, `${what}: no LSN is issued twice`)
      await wal.close()
    }
    t.ok(damaged > 30, `${damaged} damaged logs`)
  },
)

t.test('a coordinator starts after a loss that left nothing after a checkpoint', async (t) => {
  const directory = makeDirectory(t)
  await writeSmall(directory, book, [30])
  const name = segmentsOf(directory).find((one) => firstLsnOf(directory, one) === 31)!
  writeFileSync(join(directory, name), filesIn(directory).get(name)!.fill(0, 0, 512))
  const { place } = JSON.parse((await log(['log', 'doctor', directory, '--json'])).stdout)
  t.match(await log(['log', 'doctor', directory, '--accept-loss', place]), { code: 0 })
  const options = { dataDir: directory, port: 0, httpPort: false } as const
  const coordinator = await startCoordinator(options)
  t.ok(coordinator.port > 0)
  await coordinator.stop()
})

t.test('doctor reports that a good log opens, also with a running coordinator', async (t) => {
  const directory = makeDirectory(t)
  await writeSmall(directory, twoTasks(), [4])
  const found = await log(['log', 'doctor', directory, '--json'])
  t.match(found, { code: 0, stderr: '' })
  t.match(JSON.parse(found.stdout), { verdict: 'opens', kept: { lsn: 8 }, cutOff: [] })
  t.match(await log(['log', 'doctor', directory]), {
    code: 0,
    stdout: /opens; nothing to do\n$/,
  })
  const wal = await openLog(directory)
  t.match(await log(['log', 'doctor', directory]), { code: 0 })
  await wal.close()
})

t.test('doctor accepts no loss while a coordinator runs', async (t) => {
  const directory = makeDirectory(t)
  await writeSmall(directory, twoTasks())
  const wal = await openLog(directory)
  const refused = await log(['log', 'doctor', directory, '--accept-loss', '1:512'])
  t.match(refused, { code: 2, stdout: '', stderr: /^tenure: .*in use.*\n$|^tenure: .*lock.*\n$/i })
  await wal.close()
})

t.test('doctor requires --next-lsn if the clock is behind the log', async (t) => {
  const directory = makeDirectory(t)
  // A log written 1,000 days ahead looks the same as a clock that is 1,000 days behind.
  await writeSmall(directory, twoTasks(), [], Date.now() + 1000 * 24 * 3_600_000)
  const [first] = segmentsOf(directory)
  const bytes = Buffer.from(filesIn(directory).get(first!)!)
  bytes[700] = (bytes[700] ?? 0) ^ 1
  writeFileSync(join(directory, first!), bytes)
  const { place } = JSON.parse((await log(['log', 'doctor', directory, '--json'])).stdout)
  const accept = ['log', 'doctor', directory, '--accept-loss', place]
  const alone = await log(['log', 'doctor', directory, '--next-lsn', '9'])
  t.match(alone, { code: 2, stderr: /--next-lsn requires --accept-loss <place>; run this/ })
  t.match(await log(accept), {
    code: 2,
    stderr: /the log was written at .*. Set the clock, or choose an LSN with --next-lsn/,
  })
  t.match(await log([...accept, '--next-lsn', '1']), {
    code: 2,
    stderr: /cannot continue at LSN 1, .* Choose a higher LSN with --next-lsn/,
  })
  const done = await log([...accept, '--next-lsn', '9000000000', '--json'])
  t.match(JSON.parse(done.stdout), { nextLsn: 9_000_000_000 })
})

t.test('the output of doctor for a damaged log', async (t) => {
  const directory = makeDirectory(t)
  await writeSmall(directory, manyTasks())
  const [, second] = segmentsOf(directory)
  const path = join(directory, second!)
  const bytes = Buffer.from(filesIn(directory).get(second!)!)
  bytes[1500] = (bytes[1500] ?? 0) ^ 1
  writeFileSync(path, bytes)
  const steady = (text: string) =>
    text.replaceAll(directory, '<directory>').replaceAll(/\b[0-9a-f]{32}\b/g, '<id>')
  const plain = await log(['log', 'doctor', directory])
  golden(t, 'log/doctor', steady(plain.stdout))
  const coloured = await log(['log', 'doctor', directory], { isTTY: true })
  golden(t, 'log/doctor.terminal', steady(coloured.stdout))
})

t.test('a bad checkpoint is harmless only if the log opens without it', async (t) => {
  const directory = makeDirectory(t)
  await writeLog(directory, book, { checkpoints: [30, 60], firstLsn: 31 })
  const spoil = (lsn: number) =>
    truncateSync(join(directory, 'checkpoint', `${String(lsn).padStart(16, '0')}.ckpt`), 600)
  spoil(60)
  const one = await log(['log', 'doctor', directory])
  t.match(one, { code: 0, stdout: /60\.ckpt cannot be used: .*; the log opens without it/ })
  t.match(one.stdout, /opens; nothing is lost\n/)
  spoil(30)
  const both = await log(['log', 'doctor', directory])
  t.match(both, { code: 1, stdout: /30\.ckpt cannot be used: / })
  t.notMatch(both.stdout, /opens without it/)
})

t.test(
  'a bad checkpoint that a newer one replaces is reported and can be moved away',
  async (t) => {
    const directory = makeDirectory(t)
    await writeLog(directory, book, { checkpoints: [30, 60, 90] })
    const name = 'checkpoint/0000000000000060.ckpt'
    truncateSync(join(directory, name), 600)
    t.match(await log(['log', 'verify', directory]), { code: 1, stdout: /next +tenure log doctor/ })
    const told = await log(['log', 'doctor', directory])
    t.match(told, { code: 0, stdout: /60\.ckpt cannot be used: .*; the log opens without it/ })
    t.match(told.stdout, `mv ${directory}/${name} <elsewhere>`)
    t.notMatch(told.stdout, /nothing to do/)
    const finding = JSON.parse(
      (await log(['log', 'doctor', directory, '--json'])).stdout,
    ) as Finding
    t.match(finding, { verdict: 'opens', badCheckpoints: [{ lsn: 60 }] })

    const copy = join(makeDirectory(t), 'copy')
    const warning =
      /60\.ckpt cannot be used: .*; it is left out, and the copy is complete without it\n$/
    t.match(await log(['backup', directory, '--to', copy]), { code: 0, stderr: warning })
    t.match(await log(['log', 'verify', copy]), { code: 0 })

    rmSync(join(directory, name))
    t.match(await log(['log', 'verify', directory]), { code: 0 })
    t.match(await log(['log', 'doctor', directory]), { stdout: /nothing to do/ })
  },
)
