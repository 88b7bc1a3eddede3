// Whether the coordinator keeps its pace: `pnpm bench:soak`. The real coordinator runs under a
// steady load of whole task lives for half an hour, while it makes checkpoints and removes the
// segments that they cover.
import { drawTable, parseAmount, parseOptions, readCommandLine } from '@tenure/harness'
import { measureSoak } from './soak/measure.js'

const usage = 'pnpm bench:soak [--minutes m] [--rate lives-per-second] [--json]'

const { minutes, rate, json } = await readCommandLine(usage, (args) => {
  const { minutes, rate, json } = parseOptions(args, {
    minutes: 'string',
    rate: 'string',
    json: 'boolean',
  })
  return {
    minutes: parseAmount('minutes', minutes ?? '30', 10_080),
    rate: parseAmount('rate', rate ?? '5000', 1_000_000),
    json: json ?? false,
  }
})

const figures = await measureSoak({
  seconds: minutes * 60,
  livesPerSecond: rate,
  replayMs: 1000,
  historyBytes: 256 * 2 ** 20,
  segmentBytes: 16 * 2 ** 20,
  tell: (line) => process.stderr.write(`${line}\n`),
})
if (json) for (const figure of figures) console.log(JSON.stringify(figure))
else {
  const rows = figures.map(({ name, value, bound, unit, holds }) => {
    const against = bound === undefined ? '' : `at most ${show(bound)}`
    const verdict = holds === undefined ? '' : holds ? 'holds' : 'DOES NOT HOLD'
    return [name, `${show(value)} ${unit}`, against, verdict]
  })
  console.log(drawTable(rows, { align: 'llll' }))
}
if (figures.some(({ holds }) => holds === false)) process.exitCode = 1

function show(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}
