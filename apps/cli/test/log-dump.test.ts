import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { encodeRecord, type LogRecord } from '@tenure/state-machine'
import { cleanEnvironment } from '@tenure/testing'
import { Book, writeLog } from '@tenure/testing-histories'
import { openLog } from '@tenure/wal'
import t, { type Test } from 'tap'
import { golden } from './golden.js'
import { log, makeDirectory, twoTasks } from './log-world.js'
import { binary } from './world.js'

async function written(t: Test, book = twoTasks(), options = {}): Promise<string> {
  const directory = makeDirectory(t)
  await writeLog(directory, book, options)
  return directory
}

async function lsnsOf(directory: string, ...args: string[]): Promise<number[]> {
  const { stdout, stderr, code } = await log(['log', 'dump', directory, ...args])
  if (code !== 0) throw new Error(stderr)
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).lsn)
}

t.test('every record is a line of JSON with all its fields', async (t) => {
  const directory = await written(t)
  const all = await log(['log', 'dump', directory])
  t.match(all, { code: 0, stderr: '' })
  golden(t, 'log/dump', all.stdout)
  t.equal(
    (await log(['log', 'dump', directory, '--json'])).stdout,
    all.stdout,
    '--json changes nothing',
  )
  golden(t, 'log/dump-text', (await log(['log', 'dump', directory, '--text'])).stdout)
})

t.test('a range is by LSN, by time, or from the end', async (t) => {
  const directory = await written(t)
  const ranges: [args: string[], lsns: number[]][] = [
    [
      ['--from', '3', '--to', '5'],
      [3, 4, 5],
    ],
    [
      ['--from', '7'],
      [7, 8],
    ],
    [
      ['--from', '2026-01-02T12:00:10.010Z', '--to', '2026-01-02T12:00:40.010Z'],
      [4, 5],
    ],
    [['--from=-101ms'], [6, 7, 8]],
    [
      ['--to=-1ms', '--from', '6'],
      [6, 7],
    ],
    [
      ['--limit', '2'],
      [1, 2],
    ],
    [['--limit', '0'], []],
    [
      ['--last', '2'],
      [7, 8],
    ],
    [['--last', '0'], []],
    [
      ['--last', '99'],
      [1, 2, 3, 4, 5, 6, 7, 8],
    ],
    [['--last', '3', '--limit', '1'], [6]],
    [
      ['--last', '2', '--type', 'LeaseGranted,LeaseExtended'],
      [4, 6],
    ],
    [
      ['--last', '2', '--to', '5'],
      [4, 5],
    ],
    [['--from', '9'], []],
  ]
  for (const [args, lsns] of ranges) t.same(await lsnsOf(directory, ...args), lsns, args.join(' '))
})

t.test('a filter finds records of a task, a worker or a queue that do not name it', async (t) => {
  const book = twoTasks()
  const other = book.submit({ queue: 'slow' })
  const lease = book.lease(other, 'w-2')
  book.wait(1).extend(lease)
  book.kill(other)
  const filters: [args: string[], lsns: number[]][] = [
    [
      ['--task', '1'],
      [1, 3, 4, 5, 6, 7, 8],
    ],
    [
      ['--task', '1', '--from', '4', '--to', '7'],
      [4, 5, 6, 7],
    ],
    [
      ['--worker', 'w-1'],
      [3, 4, 5, 8],
    ],
    [
      ['--worker', 'w-1', '--from', '4'],
      [4, 5, 8],
    ],
    [
      ['--worker', 'w-2'],
      [6, 7, 10, 11],
    ],
    [
      ['--queue', 'slow'],
      [9, 10, 11, 12],
    ],
    [['--queue', 'default'], [2]],
    [
      ['--queue', 'mail', '--type', 'LeaseExtended,LeaseExpired'],
      [4, 5],
    ],
    [['--task', '1', '--worker', 'w-2', '--type', 'TaskCompleted'], [7]],
    [['--task', '99'], []],
  ]
  const directory = await written(t, book)
  for (const [args, lsns] of filters) t.same(await lsnsOf(directory, ...args), lsns, args.join(' '))
  const removed = await written(t, book, { checkpoints: [3, 10], firstLsn: 2 })
  t.same(await lsnsOf(removed), [4, 5, 6, 7, 8, 9, 10, 11, 12])
  t.same(await lsnsOf(removed, '--task', '1'), [4, 5, 6, 7, 8])
  t.same(await lsnsOf(removed, '--worker', 'w-1'), [4, 5, 8])
  t.same(await lsnsOf(removed, '--queue', 'mail'), [4, 5, 6, 7, 8])
})

t.test('--from finds a time in a log of many segments', async (t) => {
  const book = new Book()
  for (let start = 0; start < 9; start++) {
    if (start > 0) book.wait(1000).restart()
    book.submit()
    book.wait(1).submit()
  }
  const directory = await written(t, book)
  for (const { lsn, record } of book.entries) {
    const from = new Date(record.at).toISOString()
    t.same((await lsnsOf(directory, '--from', from))[0], lsn)
  }
})

t.test('--follow prints new records until Ctrl-C', async (t) => {
  const directory = await written(t)
  const wal = await openLog(directory)
  const env = cleanEnvironment(process.env)
  const args = [binary, 'log', 'dump', directory, '--last', '1', '--follow']
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value as string)
  t.match(await next(), { lsn: 8 })
  const submitted: LogRecord = {
    type: 'TaskCreated',
    at: Date.UTC(2027, 0, 1),
    taskId: 9,
    payload: Buffer.from('x'),
    executionWindowMs: 1000,
    retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } },
  }
  await wal.append(9, encodeRecord(submitted))
  t.match(await next(), { lsn: 9, type: 'TaskCreated' })
  await wal.roll()
  await wal.append(
    10,
    encodeRecord({ type: 'TaskDead', at: submitted.at, taskId: 9, reason: 'no' }),
  )
  t.match(await next(), { lsn: 10, type: 'TaskDead' })
  child.kill('SIGINT')
  t.same(await once(child, 'close'), [0, null])
  await wal.close()
})

t.test('a closed pipe ends a dump silently', async (t) => {
  const directory = await written(t)
  const args = [binary, 'log', 'dump', directory]
  const env = cleanEnvironment(process.env)
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let complaint = ''
  child.stderr.on('data', (bytes) => {
    complaint += bytes
  })
  t.same(await once(child, 'close'), [0, null])
  t.equal(complaint, '')
})
