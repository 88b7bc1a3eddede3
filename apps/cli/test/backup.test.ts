import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCoordinator } from '@tenure/coordinator-server'
import { Book, writeLog } from '@tenure/testing-histories'
import { openReadOnly, WalError } from '@tenure/wal'
import t, { type Test } from 'tap'
import { reportWalErrors } from '../src/log/copy.js'
import { showCheckpoint } from '../src/verbs/checkpoint.js'
import { golden, normalise } from './golden.js'
import { transcript, type } from './terminal.js'
import { run, World } from './world.js'

/** A coordinator with one task, and directories for copies of its log. */
async function start(t: Test) {
  const directory = t.testdir()
  const [dataDir, copy, restored] = ['data', 'copy', 'restored'].map((it) => join(directory, it))
  const world = await World.start(t, { dataDir: dataDir!, log: {} })
  await world.tenure('submit', 'hello')
  const tenure = (...args: string[]) => type(args)
  return { tenure, dataDir: dataDir!, copy: copy!, restored: restored! }
}

t.test(
  'a backup of a running coordinator can be restored, and a coordinator starts with it',
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
    const [, nextLsn] =
      /^It continues at LSN (\d+), after every LSN that may /.exec(goesOn ?? '') ?? []
    t.ok(Number(nextLsn) > 2 ** 32)
    t.match(means, /^Everything after the backup is lost; .* with UNKNOWN_LEASE\.$/)
    t.equal(next, `Next: tenure-coordinator --data-dir ${restored}`)

    const second = await startCoordinator({ dataDir: restored, port: 0, httpPort: false })
    t.teardown(() => second.stop())
    const endpoint = ['--coordinator', `127.0.0.1:${second.port}`]
    t.match(await tenure('get', '1', ...endpoint), { code: 0, stdout: /^payload +hello$/m })
    t.equal((await tenure('submit', 'next', ...endpoint)).stdout, `task ${nextLsn}\n`)
  },
)

t.test('backup and restore print JSON', async (t) => {
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

t.test('a failed backup or restore is one line and leaves nothing behind', async (t) => {
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
  await refused(2, /holds no log. Choose/, 'backup', '/nowhere', '--to', copy)
  await refused(2, /lies inside the source .*\./, 'backup', dataDir, '--to', join(dataDir, 'copy'))
  mkdirSync(copy)
  writeFileSync(join(copy, 'mine'), '')
  await refused(2, /is not empty: it contains "mine"/, 'backup', dataDir, '--to', copy)
  await refused(
    1,
    /is in use by process \d+: it is a running log, not a backup/,
    'restore',
    dataDir,
    '--to',
    restored,
  )
})

t.test('damage is reported with the flag that accepts its loss', async (t) => {
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
      `^tenure: wal/${name} at byte 576: .* start the coordinator with --accept-loss 1:576 to give up`,
    ),
  )
})

/** A transcript of commands and their output, with a placeholder for the directory. */
class Session {
  readonly directory: string
  readonly #env: Readonly<Record<string, string>>
  text = ''

  constructor(t: Test, env = {}) {
    this.directory = mkdtempSync(join(tmpdir(), 'tenure-'))
    t.teardown(() => rmSync(this.directory, { recursive: true, force: true }))
    this.#env = env
  }

  async type(...words: string[]): Promise<void> {
    const args = words.map((word) => word.replace(/^DIR/, this.directory))
    const said = await type(args, { env: this.#env })
    const shown = transcript(args, said).replaceAll(this.directory, 'DIR')
    this.text += `${normalise(shown)}\n`
  }
}

/** A task that ran twice, and a waiting one. */
function someBook(): Book {
  const book = new Book()
  const task = book.submit({ queue: 'mail', requestId: 'r-1' })
  const first = book.wait(5).lease(task, 'w-7')
  book.wait(10_000).extend(first)
  book.expire(first)
  const second = book.wait(20).lease(task, 'w-8')
  book.wait(3200).cancel(first)
  book.wait(100).complete(second, { result: Buffer.from('done') })
  book.submit()
  return book
}

t.test('the output of backup and restore', async (t) => {
  const session = new Session(t)
  await writeLog(join(session.directory, 'data'), someBook(), { checkpoints: [4] })
  await session.type('backup', 'DIR/data', '--to', 'DIR/copy')
  await session.type('backup', 'DIR/data', '--to', 'DIR/copy')
  await session.type('backup', 'DIR/data', '--to', 'DIR/other', '--json')
  await session.type('restore', 'DIR/copy', '--to', 'DIR/new')
  await session.type('restore', 'DIR/other', '--to', 'DIR/newer', '--next-lsn', '1000', '--json')
  await session.type('restore', 'DIR/other', '--to', 'DIR/newest', '--next-lsn', '3')
  golden(t, 'commands/backup-restore', session.text)
})

t.test('the output of checkpoint', async (t) => {
  const world = await World.start(t)
  const session = new Session(t, world.env)
  await session.type('checkpoint')
  await session.type('submit', 'hello', '--request-id', 'a')
  await session.type('checkpoint')
  await session.type('submit', 'hello', '--request-id', 'b')
  await session.type('checkpoint', '--json')
  await session.type('checkpoint', '--json')
  golden(t, 'commands/checkpoint', session.text)
})

t.test('a checkpoint without replayed records is shown like any other', async (t) => {
  const removed = { segments: 0, bytes: 0, checkpoints: 0 }
  const made = { lsn: 2, replayed: 0, replayMs: 1, writeMs: 2, removed }
  t.match(showCheckpoint({ ...made, tasks: 2 }), /^Made a checkpoint of 2 tasks at LSN 2 in/)
  t.match(showCheckpoint(made), /^No checkpoint made: there are no records after the one at LSN 2/)
})

t.test('a backup that the coordinator overtook says what to raise', async (t) => {
  let said = ''
  const write = (text: string | Uint8Array) => {
    said += text
  }
  const code = await reportWalErrors({ stderr: { fd: 2, write } }, 'DIR', async () => {
    throw new WalError('WAL_OVERTAKEN', 'the copy failed')
  })
  t.equal(code, 1)
  t.match(
    said,
    /^tenure: the coordinator deleted a file of DIR before it was copied\. Raise --history-age or/,
  )
})

t.test('the JSON of explain', async (t) => {
  const session = new Session(t)
  await writeLog(join(session.directory, 'data'), someBook())
  const { stdout } = await type(['explain', `${session.directory}/data#1`, '--json'])
  golden(t, 'explain/ran-twice-json', `${JSON.stringify(JSON.parse(stdout), null, 2)}\n`)
})
