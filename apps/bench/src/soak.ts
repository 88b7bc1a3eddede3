// Whether it goes on like this: `pnpm bench:soak`. The real coordinator under a steady load of whole
// task lives, for half an hour, while it makes checkpoints and removes what they cover.
import { parseArgs } from 'node:util'
import { measureSoak } from './soak/measure.js'

const {
  minutes,
  rate,
  json = false,
} = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    rate: { type: 'string', default: '5000' },
    json: { type: 'boolean' },
  },
}).values

const figures = await measureSoak({
  seconds: Number(minutes) * 60,
  livesPerSecond: Number(rate),
  ...{ replayMs: 1000, historyBytes: 256 * 2 ** 20, segmentBytes: 16 * 2 ** 20 },
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
