import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openHistory } from '@tenure/history'
import { writeLog } from '@tenure/testing-histories'
import t, { type Test } from 'tap'
import { type } from '../terminal.js'
import { run, World } from '../world.js'
import { someTasks } from './histories.js'

t.test('timeline draws a log, a part of it, or a task of it', async (t) => {
  const { data, file } = await writeSome(t)
  const svg = file('all.svg')
  t.same(await run(t, ['timeline', data, '--out', svg]), {
    code: 0,
    stderr: '',
    stdout: `${svg}: 7 tasks, 11 attempts\n`,
  })
  t.match(readFileSync(svg, 'utf8'), /^<svg [^>]*aria-label="[^"]*log data"/)
  const one = await type(['timeline', `${data}#4`, '--lanes', 'workers', '--out', file('4.html')])
  t.match(one, { code: 0, stdout: /: 2 workers, 3 attempts\n$/ })
  t.match(readFileSync(file('4.html'), 'utf8'), /<h1>Tenure: [^<]* task 4 of log data<\/h1>/)
  const part = [
    '--from',
    '12',
    '--to',
    '2026-01-02T12:00:40Z',
    '--only',
    'twice',
    '--lanes-max',
    '2',
  ]
  const some = await type(['timeline', data, ...part, '--theme', 'dark', '--out', svg])
  t.match(some, { code: 0, stdout: /: 2 of 3 tasks, 6 attempts\n$/ })
  t.notMatch(readFileSync(svg, 'utf8'), '@media')
  const told = await type(['timeline', data, '--out', svg, '--json'])
  t.same(JSON.parse(told.stdout), {
    out: svg,
    lanesBy: 'tasks',
    lanes: 7,
    lanesTotal: 7,
    attempts: 11,
  })
})

t.test('timeline says in one line what it cannot draw', async (t) => {
  const { data, file } = await writeSome(t)
  const out = file('none.svg')
  const refuse = async (args: string[], code: number, stderr: RegExp) =>
    t.match(await type(['timeline', ...args]), { code, stdout: '', stderr })
  await refuse([data, '--out', 'x.png'], 2, /^tenure timeline: --out must end in .*x\.png\n$/)
  await refuse([data], 2, /--out/)
  await refuse([data, '--out', out, '--from', 'noon'], 2, /--from .*noon.*an LSN \(17\), a time/)
  // What --at of other verbs refuses, --from refuses.
  await refuse([data, '--out', out, '--from', '2026-01-02T12:00:00'], 2, /a time with its zone/)
  await refuse([data, '--out', out, '--to', '0'], 2, /--to .*an LSN/)
  await refuse([file('nowhere'), '--out', out], 2, /^tenure: there is no directory .*nowhere.*\n$/)
  await refuse([data, '--out', out, '--from', '999'], 1, /^tenure: nothing of log data is .*\n$/)
  await refuse([`${data}#999`, '--out', out], 1, /^tenure: nothing of task 999 of log data .*\n$/)
  await refuse(
    [data, '--out', file('no/where.svg')],
    1,
    /where\.svg: there is no directory .*no\n$/,
  )
  const twice = ['--only', 'twice', '--out', out]
  await refuse(
    [data, ...twice, '--to', '2'],
    1,
    /^tenure: no task of log data ran more than once in that span\n$/,
  )
  await refuse(
    [`${data}#3`, ...twice],
    1,
    /^tenure: task 3 of log data did not run more than once\n$/,
  )
  t.notOk(existsSync(out))
})

t.test('where a timeline begins may be counted back from the last record', async (t) => {
  const { data, file } = await writeSome(t)
  const drawn = async (...args: string[]) => {
    await type(['timeline', data, '--out', file('a.svg'), ...args])
    return readFileSync(file('a.svg'), 'utf8')
  }
  const { at } = await (await openHistory(data)).end()
  const before = await drawn('--from', '-10s')
  t.ok(before === (await drawn('--from', new Date(at - 10_000).toISOString())))
  t.notOk(before === (await drawn()))
})

t.test(
  'a log is drawn beside the coordinator that writes it, and a task of it by asking',
  async (t) => {
    const world = await World.start(t)
    await world.tenure('submit', 'hello')
    await (await world.lease()).complete()
    const out = join(t.testdir(), 'live.svg')
    const drawn = { code: 0, stderr: '', stdout: `${out}: 1 task, 1 attempt\n` }
    t.same(await type(['timeline', world.dataDir, '--out', out]), drawn)
    const fromLog = readFileSync(out, 'utf8')
    t.same(await world.tenure('timeline', '1', '--out', out), drawn)
    const bars = (svg: string) => svg.match(/<g class="attempt.*/g)
    t.same(bars(readFileSync(out, 'utf8')), bars(fromLog))
  },
)

async function writeSome(t: Test) {
  const directory = t.testdir()
  const file = (name: string) => join(directory, name)
  await writeLog(file('data'), someTasks())
  return { data: file('data'), file }
}
