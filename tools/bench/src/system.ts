// Ours beside its peers: `pnpm bench:system`. Each system with the same work, from this one process as
// the load, one after the other, and all of it again in every round; medians count. Which of them are
// there decides what is installed on this machine.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readAsked } from './asked-of.js'
import { isInstalled } from './is-installed.js'
import { parseAsked, usage } from './system/asked.js'
import { measureBareDisk } from './system/bare-disk.js'
import type { Figure, Footprint } from './system/figure.js'
import { describeMachine } from './system/machine.js'
import { drawPlots } from './system/plots.js'
import { summarize } from './system/summary.js'
import { drawTable, drawVerdicts } from './system/table.js'
import { judge } from './system/targets.js'
import { Trial } from './system/trial.js'

const { plan, contenders, json, out } = await readAsked(usage, parseAsked)
const root = mkdtempSync(join(tmpdir(), 'tenure-bench-'))

// However this ends: the servers go first, and nothing is left behind.
process.once('exit', () => rmSync(root, { recursive: true, force: true, maxRetries: 10 }))
process.once('SIGTERM', () => process.exit(143))
process.once('SIGINT', () => process.exit(130))

const there = contenders.filter(({ program }) => isInstalled(program))
const skipped = contenders.filter((contender) => !there.includes(contender))
const machine = describeMachine(there)
const figures: (Figure | Footprint)[] = []
for (let round = 1; round <= plan.rounds; round++) {
  figures.push(measureBareDisk(root, plan.seconds))
  for (const contender of there) {
    const begunMs = performance.now()
    const trial = new Trial(contender, plan, root)
    await trial.run()
    figures.push(...trial.figures)
    const seconds = Math.round((performance.now() - begunMs) / 1000)
    process.stderr.write(`round ${round} of ${plan.rounds}: ${contender.system}, ${seconds} s\n`)
  }
}

const found = summarize(figures)
const verdicts = judge(found)
if (json) {
  for (const figure of found) console.log(JSON.stringify(figure))
  for (const { system, program } of skipped) {
    console.log(JSON.stringify({ system, skipped: `${program} is not installed` }))
  }
} else {
  const lines = skipped.map(
    ({ system, program }) => `${system}: skipped, ${program} is not installed`,
  )
  console.log([machine.text, drawTable(found), drawVerdicts(verdicts), ...lines].join('\n\n'))
}
if (out !== undefined) {
  mkdirSync(out, { recursive: true })
  const report = { machine: machine.facts, plan, figures: found, verdicts }
  const name = plan.isOfLatency ? 'latency' : 'system'
  writeFileSync(join(out, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`)
  for (const [name, svg] of await drawPlots(found, machine.line)) {
    if (!plan.isOfLatency || name.includes('latency')) writeFileSync(join(out, name), svg)
  }
}
