// How many tasks a worker process runs per second: `pnpm bench:worker`. The real binaries, a
// coordinator and one worker, run on this machine. The cases take turns, round after round. Each
// figure is a median.
import { drawTable, machineLine, readOptions, spreadOf } from '@tenure/harness'
import { type Case, cases, type Figures } from './worker/cases.js'

const { quick = false, json = false } = await readOptions('pnpm bench:worker [--quick] [--json]', {
  quick: 'boolean',
  json: 'boolean',
})
const rounds = quick ? 3 : 5
const pace = quick ? { tasks: 30_000, idleSeconds: 3 } : { tasks: 100_000, idleSeconds: 10 }

const measured = new Map<Case, Figures[]>(cases.map((one) => [one, []]))
for (let round = 1; round <= rounds; round++) {
  for (const [one, figures] of measured) {
    process.stderr.write(`round ${round} of ${rounds}: ${one.name}\n`)
    figures.push(await one.measure(pace))
  }
}

const figures = [...measured].map(([{ name, unit, target }, rounds]) => {
  const { median: cpu } = spreadOf(rounds.map((one) => one.cpu))
  return { case: name, unit, ...spreadOf(rounds.map(({ value }) => value)), cpu, target }
})
if (json) for (const figure of figures) console.log(JSON.stringify(figure))
else {
  const rows = figures.map(({ case: name, unit, median, least, most, cpu, target = '' }) => {
    const range = `${show(median)} ${unit} (${show(least)} to ${show(most)})`
    return [name, range, `processors ${cpu.toFixed(2)}`, target]
  })
  console.log(`${machineLine()}; ${rounds} rounds\n`)
  console.log(drawTable(rows, { align: 'llll' }))
}

function show(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}
