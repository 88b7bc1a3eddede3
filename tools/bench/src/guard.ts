// Whether the coordinator has become slower: `pnpm bench:guard`. Figures from two machines cannot
// be compared, but ratios from one run can: throughput over that of a bare echo of the same frames,
// and throughput with many waiting tasks over that with few. `guard.json` has the recorded ratios.
// A loss of more than a fifth fails. The verdict is "unclear" when at least a quarter of the rounds
// fall below the limit and at least a quarter do not. `--record` writes the ratios again.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { drawTable, readOptions, scratchDirectory, spreadOf } from '@tenure/harness'
import { judgeLoss, type Ratio, ratios } from './guard/ratios.js'

const { record = false, json = false } = await readOptions('pnpm bench:guard [--record] [--json]', {
  record: 'boolean',
  json: 'boolean',
})
/** In the sources, because the recorded ratios are committed. */
const recordPath = fileURLToPath(new URL('../../src/guard/guard.json', import.meta.url))
const recorded = JSON.parse(readFileSync(recordPath, 'utf8')) as Readonly<Record<string, number>>
const root = scratchDirectory()

const roundsMin = 5
/**
 * An unclear ratio is measured for more rounds, so that passing load on the machine fails nothing.
 */
const roundsMax = 15
const lossMax = 0.2
const words = {
  holds: 'holds',
  unclear: 'UNCLEAR: run it again on an idle machine',
  lost: `LOST more than ${lossMax * 100} %`,
}

const measured = new Map<Ratio, number[]>(ratios.map((ratio) => [ratio, []]))
for (let round = 1; round <= roundsMax; round++) {
  process.stderr.write(`round ${round}\n`)
  for (const [ratio, values] of measured) {
    if (round > roundsMin && judge(ratio, values) === 'holds') continue
    values.push(await ratio.measure(root))
  }
  const isDone = [...measured].every(([ratio, values]) => judge(ratio, values) === 'holds')
  if (round >= roundsMin && (isDone || record)) break
}

const figures = [...measured].map(([ratio, values]) => {
  const { median, least, most } = spreadOf(values)
  const expected = recorded[ratio.name] ?? Number.NaN
  return {
    name: ratio.name,
    median,
    least,
    most,
    recorded: expected,
    verdict: judge(ratio, values),
  }
})
if (json) for (const figure of figures) console.log(JSON.stringify(figure))
else {
  const rows = figures.map(({ name, median, least, most, recorded, verdict }) => {
    const range = `${show(median)} (${show(least)} to ${show(most)})`
    return [name, range, `recorded ${show(recorded)}`, words[verdict]]
  })
  console.log(drawTable(rows, { align: 'llll' }))
}
if (record) {
  const medians = figures.map(({ name, median }) => [name, round(median)])
  writeFileSync(recordPath, `${JSON.stringify(Object.fromEntries(medians), null, 2)}\n`)
} else if (figures.some(({ verdict }) => verdict === 'lost')) {
  process.exitCode = 1
}

function judge({ name }: Ratio, values: readonly number[]): keyof typeof words {
  if (record) return 'holds'
  const expected = recorded[name]
  if (expected === undefined) throw new Error(`${name} has no recorded value; run with --record`)
  return judgeLoss(values, expected * (1 - lossMax))
}

function show(value: number): string {
  return value.toFixed(3)
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
