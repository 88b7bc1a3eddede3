import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openLog, openReadOnly, verifyLog } from '../src/index.js'
import { appendOneByOne, range, recordOf, rejection, replayedLsns } from './world.js'

const program = fileURLToPath(new URL('fixtures/appender.js', import.meta.url))

/** Starts a writer, kills it after `count` acknowledgements, and resolves with all of them. */
async function killAfter(directory: string, appenders: number, count: number): Promise<number> {
  const child = startAppender(directory, appenders)
  let acknowledged = 0
  let heard = 0
  for await (const line of createInterface({ input: child.stdout ?? process.stdin })) {
    acknowledged = Math.max(acknowledged, Number(line))
    // Its remaining output is still read.
    if (++heard === count) child.kill('SIGKILL')
  }
  return acknowledged
}

function startAppender(directory: string, appenders: number): ChildProcess {
  // tap's loader must not run in the child.
  const { NODE_OPTIONS: _, ...env } = process.env
  return spawn(process.execPath, [program, directory, String(appenders)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

t.test(
  'a process that is killed repeatedly with SIGKILL loses no acknowledged record',
  async (t) => {
    const directory = join(t.testdir(), 'log')
    let acknowledged = 0
    const rounds = 12
    for (let round = 0; round < rounds; round++) {
      const count = 1 + ((round * 613) % 2500)
      acknowledged = Math.max(
        acknowledged,
        await killAfter(directory, round % 2 === 0 ? 1 : 32, count),
      )
      const log = await openLog(directory)
      t.ok(log.durableLsn >= acknowledged, `${log.durableLsn} of ${acknowledged} acknowledged`)
      t.same((await replayedLsns(t, log)).length, log.durableLsn)
      acknowledged = log.durableLsn
      await log.close()
    }
    t.ok(acknowledged > 1000)
    const report = await verifyLog(directory)
    t.equal(report.damage, undefined)
    t.equal(report.epoch, 2 * rounds)
    t.comment(`${rounds} kills, ${acknowledged} records`)
  },
)

t.test(
  'a log that another process has open is rejected with its name, but can be read',
  async (t) => {
    const directory = join(t.testdir(), 'log')
    const child = startAppender(directory, 1)
    const lines = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]()
    for (let count = 0; count < 10; count++) await lines.next()
    await t.rejects(openLog(directory), {
      code: 'WAL_LOCKED',
      message: new RegExp(`process ${child.pid}`),
    })
    const reader = await openReadOnly(directory)
    const seen: number[] = []
    const stop = new AbortController()
    for await (const run of reader.replay({ follow: true, signal: stop.signal })) {
      for (const [index, record] of run.records.entries()) {
        seen.push(run.firstLsn + index)
        if (Buffer.compare(record, recordOf(run.firstLsn + index)) !== 0) t.fail('another record')
      }
      if (seen.length > 500) stop.abort()
    }
    t.same(seen, range(1, seen.length))
    child.kill('SIGKILL')
    await once(child, 'exit')
    const log = await openLog(directory)
    t.ok(log.durableLsn >= 500)
    await log.close()
  },
)

t.test('one process cannot open a directory twice', async (t) => {
  const directory = join(t.testdir(), 'log')
  const log = await openLog(directory)
  t.equal(await rejection(openLog(directory)), 'WAL_LOCKED')
  await log.close()
  await (await openLog(directory)).close()
})

t.test(
  'only the owner can access the directory',
  { skip: process.platform === 'win32' },
  async (t) => {
    const directory = join(t.testdir(), 'deep', 'log')
    const log = await openLog(directory)
    await appendOneByOne(log, 1)
    await log.close()
    t.equal(statSync(directory).mode & 0o777, 0o700)
    for (const name of readdirSync(join(directory, 'wal'))) {
      t.equal(statSync(join(directory, 'wal', name)).mode & 0o777, 0o600, name)
    }
  },
)

t.test(
  'a file, a foreign directory and a directory without permission are rejected with their own codes',
  async (t) => {
    const root = t.testdir()
    writeFileSync(join(root, 'file'), 'a file')
    t.equal(await rejection(openLog(join(root, 'file'))), 'WAL_NOT_A_LOG')
    t.equal(await rejection(openLog(join(root, 'file', 'below'))), 'WAL_NOT_A_LOG')
    mkdirSync(join(root, 'foreign'))
    writeFileSync(join(root, 'foreign', 'thesis.txt'), 'do not touch')
    t.equal(await rejection(openLog(join(root, 'foreign'))), 'WAL_NOT_A_LOG')
    // Even root cannot create a directory there.
    if (process.platform === 'linux')
      t.equal(await rejection(openLog('/proc/tenure/log')), 'WAL_READ_ONLY')
    if (process.getuid?.() === 0) return // root may write anywhere
    mkdirSync(join(root, 'closed'))
    chmodSync(join(root, 'closed'), 0o500)
    t.equal(await rejection(openLog(join(root, 'closed', 'log'))), 'WAL_READ_ONLY')
  },
)

t.test(
  'the real disk returns what was written, for both ways of writing and every sync mode',
  async (t) => {
    for (const sync of ['always', 'interval', 'none'] as const) {
      const directory = join(t.testdir(), 'log')
      const log = await openLog(directory, { sync })
      await appendOneByOne(log, 50)
      await Promise.all(range(51, 3000).map((lsn) => log.append(lsn, recordOf(lsn))))
      await log.close()
      const reopened = await openLog(directory, { sync })
      t.same(await replayedLsns(t, reopened), range(1, 3000))
      await reopened.close()
    }
  },
)

t.test(
  'on Linux every write of the log uses an O_DSYNC descriptor',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const directory = join(t.testdir(), 'log')
    for (const sync of ['always', 'none'] as const) {
      const log = await openLog(directory, { sync })
      const flags = readdirSync('/proc/self/fd').flatMap((fd) => {
        const target = readLinkIfOpen(`/proc/self/fd/${fd}`)
        if (!target?.startsWith(directory) || !target.endsWith('.wal')) return []
        return [
          Number.parseInt(
            /flags:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '',
            8,
          ),
        ]
      })
      t.equal(flags.length, 1)
      t.equal(((flags[0] ?? 0) & constants.O_DSYNC) !== 0, sync === 'always')
      await log.close()
    }
  },
)

function readLinkIfOpen(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined // the descriptor that listed the directory
  }
}
