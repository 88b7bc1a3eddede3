// Whether the coordinator has become slower: `pnpm bench:guard`. Figures of two machines cannot be
// compared, but shares can: ours of what a bare echo of the same frames does in the same run, and ours
// beside many waiting tasks of ours beside few. What they were when they were recorded stands in
// `guard.json`; a loss of more than a fifth fails. Where a quarter of the rounds say so and a quarter do
// not, the machine is too restless for a verdict, and that is said. `--record` writes them anew.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { askedOf } from './asked-of.js'
import { judgeLoss } from './guard/judgement.js'
import { type Ratio, ratios } from './guard/ratios.js'
import { spreadOf } from './system/figure.js'

const { record = false, json = false } = await askedOf('pnpm bench:guard [--record] [--json]', {
  record: { type: 'boolean' },
  json: { type: 'boolean' },
})
/** In the sources: what is recorded is committed. */
const recordPath = fileURLToPath(new URL('../../src/guard/guard.json', import.meta.url))
const recorded = JSON.parse(readFileSync(recordPath, 'utf8')) as Readonly<Record<string, number>>
const root = mkdtempSync(join(tmpdir(), 'tenure-bench-'))

process.once('exit', () => rmSync(root, { recursive: true, force: true, maxRetries: 10 }))
process.once('SIGTERM', () => process.exit(143))
process.once('SIGINT', () => process.exit(130))

const roundsMin = 5
/** Work on the machine that comes and goes fails nothing: it is looked at for longer. */
const roundsMax = 15
const lossMax = 0.2
const words = {
  holds: 'holds',
  unclear: 'UNCLEAR: again, when the machine does nothing else',
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

for (const [ratio, values] of measured) {
  const { median, least, most } = spreadOf(values)
  const expected = recorded[ratio.name] ?? Number.NaN
  const { name } = ratio
  const verdict = judge(ratio, values)
  if (json) console.log(JSON.stringify({ name, median, least, most, recorded: expected, verdict }))
  else {
    const range = `${show(median)} (${show(least)} to ${show(most)})`
    console.log(
      `${name.padEnd(44)}${range.padEnd(26)}recorded ${show(expected)}  ${words[verdict]}`,
    )
  }
}
if (record) {
  const medians = [...measured].map(([{ name }, values]) => [name, round(spreadOf(values).median)])
  writeFileSync(recordPath, `${JSON.stringify(Object.fromEntries(medians), null, 2)}\n`)
} else if ([...measured].some(([ratio, values]) => judge(ratio, values) === 'lost')) {
  process.exitCode = 1
}

function judge({ name }: Ratio, values: readonly number[]): keyof typeof words {
  if (record) return 'holds'
  const expected = recorded[name]
  if (expected === undefined) throw new Error(`${name} was never recorded: use --record`)
  return judgeLoss(values, expected * (1 - lossMax))
}

function show(value: number): string {
  return value.toFixed(3)
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
