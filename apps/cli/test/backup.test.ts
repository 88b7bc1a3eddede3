import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startCoordinator } from '@tenure/coordinator-server'
import { openReadOnly } from '@tenure/wal'
import t, { type Test } from 'tap'
import { type } from './terminal.js'
import { run, World } from './world.js'

/** A coordinator with one task, and places for copies of what it keeps. */
async function start(t: Test) {
  const directory = t.testdir()
  const [dataDir, copy, restored] = ['data', 'copy', 'restored'].map((it) => join(directory, it))
  const world = await World.start(t, { dataDir: dataDir!, log: {} })
  await world.tenure('submit', 'hello')
  const tenure = (...args: string[]) => type(args)
  return { tenure, dataDir: dataDir!, copy: copy!, restored: restored! }
}

t.test(
  'a backup beside a running coordinator is restored, and a coordinator starts on it',
  async (t) => {
    const { dataDir, copy, restored } = await start(t)
    const tenure = (...args: string[]) => run(t, args)
    const made = await tenure('backup', dataDir, '--to', copy)
    t.match(made, { code: 0, stderr: '' })
    const size = String.raw`\d+(\.\d+)? K?i?B`
    t.match(
      made.stdout,
      new RegExp(
        `^backed up ${dataDir} to ${copy} in [^:]+: LSN 1 to 1, 1 segment, 0 checkpoints, ${size}\n$`,
      ),
    )

    const { code, stdout, stderr } = await tenure('restore', copy, '--to', restored)
    t.same({ code, stderr }, { code: 0, stderr: '' })
    const [what, goesOn, means, next] = stdout.split('\n')
    t.match(what, new RegExp(`^restored ${copy} to ${restored} in [^:]+: LSN 1 to 1, `))
    const [, nextLsn] = /^It goes on at LSN (\d+), behind all that can /.exec(goesOn ?? '') ?? []
    t.ok(Number(nextLsn) > 2 ** 32)
    t.match(means, /^What was answered after the backup is gone; .* as UNKNOWN_LEASE\.$/)
    t.equal(next, `Next: tenure-coordinator --data-dir ${restored}`)

    const second = await startCoordinator({ dataDir: restored, port: 0, httpPort: false })
    t.teardown(() => second.stop())
    const endpoint = ['--coordinator', `127.0.0.1:${second.port}`]
    t.match(await tenure('get', '1', ...endpoint), { code: 0, stdout: /^payload +hello$/m })
    t.equal((await tenure('submit', 'next', ...endpoint)).stdout, `task ${nextLsn}\n`)
  },
)

t.test('for programs, both say what they made', async (t) => {
  const { tenure, dataDir, copy, restored } = await start(t)
  const { stdout } = await tenure('backup', dataDir, '--to', copy, '--json')
  const counts = { firstLsn: 1, lastLsn: 1, segments: 1, checkpoints: 0, badCheckpoints: [] }
  t.match(JSON.parse(stdout), { dataDir, to: copy, epoch: 1, ...counts })
  const again = await tenure('restore', copy, '--to', restored, '--next-lsn', '1000', '--json')
  t.match(JSON.parse(again.stdout), {
    backup: copy,
    to: restored,
    epoch: 2,
    ...counts,
    nextLsn: 1000,
  })
  t.match((await openReadOnly(restored)).gaps, [{ firstLsn: 2, lastLsn: 999, reason: 'restored' }])
})

t.test('what cannot be copied is refused in one line, and leaves nothing', async (t) => {
  const { tenure, dataDir, copy, restored } = await start(t)
  const refused = async (code: number, message: RegExp, ...args: string[]) => {
    const before = readdirSync(join(dataDir, '..'))
    const { stderr, ...rest } = await tenure(...args)
    t.match(rest, { code, stdout: '' }, args.join(' '))
    t.match(stderr, message)
    t.equal(stderr.split('\n').length, 2, 'one line')
    t.same(readdirSync(join(dataDir, '..')), before)
  }
  await refused(2, /is required|must be given|--to/, 'backup', dataDir)
  await refused(2, /holds no log\n$/, 'backup', '/nowhere', '--to', copy)
  await refused(
    2,
    /lies in .*, which is what is to be copied/,
    'backup',
    dataDir,
    '--to',
    join(dataDir, 'copy'),
  )
  mkdirSync(copy)
  writeFileSync(join(copy, 'mine'), '')
  await refused(2, /is not empty: it holds "mine"/, 'backup', dataDir, '--to', copy)
  await refused(
    1,
    /is in use by process \d+: it is a log, not a backup/,
    'restore',
    dataDir,
    '--to',
    restored,
  )
})

t.test('damage is named, with the flag that accepts its loss', async (t) => {
  const { tenure, dataDir, copy, restored } = await start(t)
  await tenure('backup', dataDir, '--to', copy)
  const [name] = readdirSync(join(copy, 'wal'))
  const path = join(copy, 'wal', name!)
  const bytes = readFileSync(path)
  bytes[512 + 64 + 10]! ^= 1
  writeFileSync(path, bytes)
  const { code, stderr } = await tenure('restore', copy, '--to', restored)
  t.equal(code, 1)
  t.match(
    stderr,
    new RegExp(
      `^tenure: wal/${name} at byte 576: .* start the coordinator with --accept-loss 1:576 to go on`,
    ),
  )
})
