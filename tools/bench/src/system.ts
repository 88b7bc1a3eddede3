// Tenure beside its peers: `pnpm bench:system`. Each system gets the same work from this one
// process, one system after the other, once in every round. Each figure is a median. Systems that
// are not installed on this machine are skipped.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeMachine, machineLine, readCommandLine, scratchDirectory } from '@tenure/harness'
import { isInstalled } from './servers/server.js'
import { measureBareDisk } from './system/bare-disk.js'
import type { Figure, Footprint } from './system/figure.js'
import { drawPlots } from './system/plots.js'
import { parseRun, usage } from './system/requested-run.js'
import { summarize } from './system/summary.js'
import { drawTables, drawVerdicts } from './system/table.js'
import { judge } from './system/targets.js'
import { Trial } from './system/trial.js'

const { plan, contenders, json, out } = await readCommandLine(usage, parseRun)
const root = scratchDirectory()

const there = contenders.filter(({ program }) => isInstalled(program))
const skipped = contenders.filter((contender) => !there.includes(contender))
const systems = there.map(({ system, durability, promise, version }) => {
  return { system, version: version(), durability, promise }
})
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
  const promises = systems.map((one) => `  ${one.system} (${one.version}): ${one.promise}`)
  const machine = [machineLine(), ...promises].join('\n')
  console.log([machine, drawTables(found), drawVerdicts(verdicts), ...lines].join('\n\n'))
}
if (out !== undefined) {
  mkdirSync(out, { recursive: true })
  const machine = { ...describeMachine(), contenders: systems }
  const report = { machine, plan, figures: found, verdicts }
  const name = plan.isOfLatency ? 'latency' : 'system'
  writeFileSync(join(out, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`)
  for (const [name, svg] of await drawPlots(found, machineLine())) {
    if (!plan.isOfLatency || name.includes('latency')) writeFileSync(join(out, name), svg)
  }
}
