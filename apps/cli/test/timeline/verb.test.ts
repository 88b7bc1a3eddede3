import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openHistory } from '@tenure/history'
import { writeLog } from '@tenure/testing-histories'
import t, { type Test } from 'tap'
import { type } from '../terminal.js'
import { run, World } from '../world.js'
import { someTasks } from './histories.js'

t.test('timeline draws a log, a part of a log, or a task', async (t) => {
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
  const part = ['--from', '12', '--to', '2026-01-02T12:00:40Z', '--repeated', '--lanes-max', '2']
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

t.test('timeline prints an error as one line', async (t) => {
  const { data, file } = await writeSome(t)
  const out = file('none.svg')
  const refuse = async (args: string[], code: number, stderr: RegExp) =>
    t.match(await type(['timeline', ...args]), { code, stdout: '', stderr })
  await refuse(
    [data, '--out', 'x.png'],
    2,
    /^tenure timeline: --out is x\.png; it must end in .*\n$/,
  )
  await refuse([data], 2, /--out/)
  await refuse([data, '--out', out, '--from', 'noon'], 2, /--from .*noon.*an LSN \(17\), a time/)
  // --from accepts the same moments as --at of other verbs.
  await refuse([data, '--out', out, '--from', '2026-01-02T12:00:00'], 2, /a time with a zone/)
  await refuse([data, '--out', out, '--to', '0'], 2, /--to .*an LSN/)
  const ofShard =
    /^tenure timeline: <subject> is ".*1\.17", but shards are not supported yet; .*\n$/
  await refuse(['1.17', '--out', out], 2, ofShard)
  await refuse([`${data}#1.17`, '--out', out], 2, ofShard)
  await refuse(['./1.17', '--out', out], 2, /^tenure: directory \.\/1\.17 does not exist/)
  await refuse(
    [file('nowhere'), '--out', out],
    2,
    /^tenure: directory .*nowhere does not exist.*\n$/,
  )
  await refuse(
    [data, '--out', out, '--from', '999'],
    1,
    /^tenure: no records of log data in that range\n$/,
  )
  await refuse([`${data}#999`, '--out', out], 1, /^tenure: no records of task 999 of log data\n$/)
  await refuse(
    [data, '--out', file('no/where.svg')],
    1,
    /cannot write .*where\.svg: directory .*no does not exist\n$/,
  )
  const twice = ['--repeated', '--out', out]
  await refuse(
    [data, ...twice, '--to', '2'],
    1,
    /^tenure: no task of log data ran more than once in that range\n$/,
  )
  await refuse(
    [`${data}#3`, ...twice],
    1,
    /^tenure: task 3 of log data did not run more than once\n$/,
  )
  t.notOk(existsSync(out))
})

t.test('--from may count back from the last record', async (t) => {
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
  'timeline draws the log of a running coordinator, and a task through the coordinator',
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
