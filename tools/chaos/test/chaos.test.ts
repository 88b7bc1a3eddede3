// Runs alone: its tests share the evidence of one run.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { judge } from '../src/checks/verdict.js'
import { Parcels } from '../src/evidence/parcels.js'
import { Places } from '../src/evidence/places.js'
import { runChaos } from '../src/run.js'
import { describeSummary } from '../src/summary.js'
import { gather } from './gathered.js'
import { plants } from './plants.js'

const tasks = 500
// Large payloads make the log grow fast, so that a few seconds give a checkpoint and a full disk.
const work = { tasks, seed: 1, workers: 1, paddingBytesMax: 6000 }
const options = { ...work, faultMs: 4000, keep: true }
const lines: string[] = []
const output = { write: (line: string) => lines.push(line) }

const summary = await runChaos(options, output, new AbortController().signal)
const { acknowledged, directory = '' } = summary
t.teardown(() => rmSync(directory, { recursive: true, force: true }))
const evidence = await gather(new Places(directory))

t.test('all checks hold for a small fleet under faults', async (t) => {
  t.same(summary.violations, [])
  t.match(summary, { lost: 0, unexplained: 0, seed: 1 })
  t.ok(acknowledged > 0 && acknowledged <= tasks)
  t.equal(summary.completed + summary.failed + summary.dead, acknowledged)
  t.equal(summary.executions, summary.grants - summary.answersLost - summary.notBegun)
})

t.test('faults were injected', async (t) => {
  const { kills, stops, restarts, coordinatorKills, startsRefused, fills, skipped } = summary
  t.ok(kills > 0)
  t.ok(stops > 0)
  t.equal(restarts, kills)
  t.equal(evidence.coordinatorLives, coordinatorKills + startsRefused + 1)
  if (skipped.length === 0) t.ok(fills > 0, 'the disk was full')
  else t.match(skipped, [/no small file system/])
})

t.test('a run reports its progress', async (t) => {
  const phases = lines.map((line) => /s {2}(\w+):/.exec(line)?.[1])
  t.same([...new Set(phases)], ['faults', 'draining', 'stopping', 'judging'])
  t.match(
    lines.at(-1),
    new RegExp(
      `${acknowledged} acknowledged, \\d+ kills, \\d+ stops, \\d+ cuts, \\d+ stalls, \\d+ fills\\n$`,
    ),
  )
})

t.test('the text names skipped faults and ends with the totals', async (t) => {
  const lines = describeSummary({ ...summary, skipped: ['the disk is never full'] }).split('\n')
  t.match(lines.at(-2), new RegExp(`^acknowledged +${acknowledged}, of which 0 lost$`))
  t.match(lines.at(-1), /^duplicate executions +\d+ possible, \d+ confirmed, 0 unexplained$/)
  t.ok(lines.some((line) => /^disk +skipped: the disk is never full$/.test(line)))
})

for (const { name, check, says, plant } of plants) {
  t.test(`the checks find ${name}`, async (t) => {
    const { violations } = await judgeInParcels(plant(evidence))
    const found = violations.find((violation) => violation.check === check)?.found ?? []
    t.ok(
      found.some((fault) => says.test(fault)),
      `${check}: ${found.join('; ')}`,
    )
  })
}

t.test('sound evidence passes in parcels of any size', async (t) => {
  const { violations, ...totals } = await judgeInParcels({}, 500)
  t.same(violations, [])
  t.match(summary, totals)
})

t.test(
  'an acknowledged task without an end counts as lost, an execution without a grant as unexplained',
  async (t) => {
    const [first] = evidence.acknowledged
    const lost = await judgeInParcels({
      acknowledged: [...evidence.acknowledged, { number: first!.number, taskId: 99999999 }],
    })
    t.match(lost, { lost: 1, unexplained: 0 })
    const [started] = evidence.executions
    const repeated = await judgeInParcels({ executions: [...evidence.executions, started!] })
    t.match(repeated, { lost: 0, unexplained: 1 })
  },
)

async function judgeInParcels(planted: Partial<typeof evidence>, lsnsEach?: number) {
  const root = mkdtempSync(join(tmpdir(), 'tenure-chaos-test-'))
  try {
    return await judge({ ...evidence, ...planted }, new Parcels(join(root, 'parcels'), lsnsEach))
  } finally {
    rmSync(root, { recursive: true })
  }
}
