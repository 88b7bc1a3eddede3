// What a worker process does in a second: `pnpm bench:worker`. The real binaries, a coordinator and
// one worker on this machine. Cases take turns, round after round; medians count.
import { cpus } from 'node:os'
import { askedOf } from './asked-of.js'
import { type Case, cases, type Figures } from './worker-cases.js'

const { quick = false, json = false } = await askedOf('pnpm bench:worker [--quick] [--json]', {
  quick: { type: 'boolean' },
  json: { type: 'boolean' },
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

if (!json)
  console.log(`${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, ${rounds} rounds\n`)
for (const [{ name, unit, target }, figures] of measured) {
  const [least, median, most] = spread(figures.map(({ value }) => value))
  const [, cpu] = spread(figures.map((one) => one.cpu))
  if (json) console.log(JSON.stringify({ case: name, unit, median, least, most, cpu, target }))
  else {
    const range = `${show(median)} ${unit} (${show(least)} to ${show(most)})`
    console.log(
      `${name.padEnd(20)}${range.padEnd(52)}processors ${cpu.toFixed(2)}  ${target ?? ''}`,
    )
  }
}

function spread(values: readonly number[]): [least: number, median: number, most: number] {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN
  return [at(0), at(0.5), at(1)]
}

function show(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}
