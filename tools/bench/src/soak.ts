// Whether it goes on like this: `pnpm bench:soak`. The real coordinator under a steady load of whole
// task lives, for half an hour, while it makes checkpoints and removes what they cover.
import { parseAmount, parseOptions } from '@tenure/testing'
import { readAsked } from './asked-of.js'
import { measureSoak } from './soak/measure.js'

const usage = 'pnpm bench:soak [--minutes m] [--rate lives a second] [--json]'

const { minutes, rate, json } = await readAsked(usage, (args) => {
  const { minutes, rate, json } = parseOptions(args, {
    minutes: { type: 'string' },
    rate: { type: 'string' },
    json: { type: 'boolean' },
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
for (const figure of figures) {
  if (json) {
    console.log(JSON.stringify(figure))
    continue
  }
  const { name, value, bound, unit, holds } = figure
  const against = bound === undefined ? '' : `at most ${show(bound)}`
  const verdict = holds === undefined ? '' : holds ? 'holds' : 'DOES NOT HOLD'
  console.log(
    `${name.padEnd(46)}${`${show(value)} ${unit}`.padEnd(20)}${against.padEnd(22)}${verdict}`,
  )
}
if (figures.some(({ holds }) => holds === false)) process.exitCode = 1

function show(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}
