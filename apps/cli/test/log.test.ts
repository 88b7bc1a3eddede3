import { History } from '@tenure/history'
import { Book, sourceOf, writeLog } from '@tenure/testing-histories'
import t, { type Test } from 'tap'
import { logPosition, resolvePosition } from '../src/log/position.js'
import { golden } from './golden.js'
import { makeDirectory, log as tenure, twoTasks } from './log-world.js'

const { parse, format } = logPosition()

t.test('a position is an LSN, a time with a zone, or an offset from the end', (t) => {
  const noon = { at: Date.UTC(2026, 0, 2, 12) }
  const meant = {
    17: { lsn: 17 },
    '2026-01-02T12:00:00Z': noon,
    '2026-01-02 12:00z': noon,
    '2026-01-02T13:00:00.000+01:00': noon,
    '2024-02-29T00:00:00.5Z': { at: Date.UTC(2024, 1, 29) + 500 },
    '-5m': { beforeEndMs: 300_000 },
    '-1.5s': { beforeEndMs: 1500 },
  }
  for (const [text, position] of Object.entries(meant)) {
    t.same(parse(text), position, text)
    t.same(parse(format(position)), position, text)
  }
  t.end()
})

t.test('an ambiguous or malformed position is invalid', (t) => {
  const wrong = ['', '0', '-1', '1.5', '5m', '-5', 'now', '2026-01-02', '2026-01-02T12:00:00']
  wrong.push('2026-02-31T12:00:00Z', '2026-01-02T25:00:00Z', '1e3', '9007199254740993', ' 17')
  for (const text of wrong) t.equal(parse(text), undefined, text)
  t.end()
})

t.test('an offset counts back from the last record', async (t) => {
  const book = new Book()
  const start = book.now
  book.submit()
  book.wait(60_000).submit()
  const history = new History(sourceOf(book))
  t.same(await resolvePosition(history, { beforeEndMs: 60_000 }), { at: start })
  t.same(await resolvePosition(history, { lsn: 1 }), { lsn: 1 })
  t.equal(await resolvePosition(history, undefined), undefined)
})

async function written(t: Test, book = twoTasks(), options = {}): Promise<string> {
  const directory = makeDirectory(t)
  await writeLog(directory, book, options)
  return directory
}

t.test('a log answers as a coordinator would have at that moment', async (t) => {
  const log = await written(t)
  const stateAt = async (...at: string[]) => {
    const { code, stdout } = await tenure(['get', '1', '--log', log, '--json', ...at])
    return code === 0 ? JSON.parse(stdout).state : code
  }
  t.equal(await stateAt(), 'COMPLETED')
  t.equal(await stateAt('--at', '6'), 'LEASED')
  t.equal(await stateAt('--at', '5'), 'WAITING')
  t.equal(await stateAt('--at', '2026-01-02T12:00:40.029Z'), 'WAITING')
  t.equal(await stateAt('--at=-1ms'), 'COMPLETED')
  t.equal(await stateAt('--at=-2ms'), 'LEASED')
  t.equal(await stateAt('--at', '2026-01-02T11:00:00Z'), 1)
})

t.test('the output of get, list and stats for a log', async (t) => {
  const log = await written(t)
  const shown = async (...args: string[]) => {
    const { code, stdout, stderr } = await tenure(args)
    t.equal(code, 0)
    return stderr + stdout
  }
  golden(t, 'log/get', await shown('get', `${log}#1`, '--at', '6'))
  golden(t, 'log/list', await shown('list', '--log', log, '--at=-1s'))
  golden(t, 'log/stats', await shown('stats', '--log', log))
  const { stdout } = await tenure(['list', '--log', log, '--state', 'WAITING', '--json'])
  t.match(JSON.parse(stdout), { taskId: 2, queue: 'default' })
})

t.test('a question that a log cannot answer is one line', async (t) => {
  const log = await written(t)
  const removed = await written(t, twoTasks(), { checkpoints: [5, 8], firstLsn: 2 })
  const refusals: [args: string[], code: number, complaint: RegExp][] = [
    [['get', '9', '--log', log], 1, /tenure: task 9 is not in the log as of LSN 8\. .*\n$/],
    [
      ['list', '--log', log, '--at', '99'],
      2,
      /^tenure: there is no LSN 99: the log ends at LSN 8; .*\n$/,
    ],
    [
      ['stats', '--log', removed, '--at', '3'],
      2,
      /^tenure: the state at LSN 3 is unknown: .*\. Choose a later moment; tenure log doctor .*\n$/,
    ],
    [['list', '--at', '3'], 2, /^tenure list: --at requires a log; set --log\n$/],
    [['get', `${log}#1`, '--log', log], 2, /^tenure get: two logs are given, .*\n$/],
    [['list', '--log', '/nowhere'], 2, /^tenure: directory \/nowhere does not exist; .*\n$/],
    [
      ['list', '--log', log, '--at', 'noon'],
      2,
      /^tenure list: --at is "noon"; it must be an LSN .*\n$/,
    ],
  ]
  for (const [args, code, complaint] of refusals) {
    t.match(await tenure(args), { code, stdout: '', stderr: complaint }, args.join(' '))
  }
})

t.test('texts of other users in a log cannot control the terminal', async (t) => {
  const book = new Book()
  const task = book.submit({ queue: 'q\u001b[2J\u202e', payload: Buffer.from('\u009b2J') })
  book.fail(book.lease(task, 'w\u001b[31m'), 'no \u001b[2Jroom')
  const log = await written(t, book)
  const all = [
    ...[
      ['get', `${log}#1`],
      ['list', '--log', log],
      ['stats', '--log', log],
    ],
    ...[
      ['log', 'dump', log, '--text'],
      ['log', 'stat', log],
      ['log', 'doctor', log],
    ],
  ]
  for (const args of all) {
    t.notMatch((await tenure(args)).stdout, /[^\P{Cc}\n]|\u202e/u, args.join(' '))
  }
})
