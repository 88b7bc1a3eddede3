import t from 'tap'
import { runChaos } from '../src/run.js'
import { judge } from '../src/verdict.js'
import { plants } from './plants.js'

const tasks = 300
const options = { faultMs: 4000, tasks, seed: 1, workers: 1 }
const lines: string[] = []
const output = { write: (line: string) => lines.push(line) }

const { summary, evidence } = await runChaos(options, output, new AbortController().signal)

t.test('a small fleet under faults for a few seconds keeps all its promises', async (t) => {
  t.same(summary.violations, [])
  t.match(summary, { acknowledged: tasks, lost: 0, unexplained: 0, seed: 1, directory: undefined })
  t.equal(summary.completed + summary.failed + summary.dead, tasks)
  t.equal(summary.executions, summary.grants - summary.answersLost - summary.notBegun)
})

t.test('there were faults', async (t) => {
  const { kills, stops, restarts, coordinatorKills } = summary
  t.ok(kills > 0)
  t.ok(stops > 0)
  t.equal(restarts, kills)
  t.equal(evidence.coordinatorLives, coordinatorKills + 1)
})

t.test('it tells how far it is', async (t) => {
  const phases = lines.map((line) => /s {2}(\w+):/.exec(line)?.[1])
  t.same([...new Set(phases)], ['faults', 'draining', 'stopping', 'judging'])
  t.match(
    lines.at(-1),
    new RegExp(
      `${tasks}/${tasks} acknowledged, \\d+ kills, \\d+ stops, \\d+ cuts, \\d+ stalls\\n$`,
    ),
  )
})

for (const { name, check, says, plant } of plants) {
  t.test(`it finds ${name}`, async (t) => {
    const { violations } = judge({ ...evidence, ...plant(evidence) })
    const found = violations.find((violation) => violation.check === check)?.found ?? []
    t.ok(
      found.some((fault) => says.test(fault)),
      `${check}: ${found.join('; ')}`,
    )
  })
}
