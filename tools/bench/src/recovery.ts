// How long a restart takes: `pnpm bench:recovery`. A server that holds many tasks is killed with
// SIGKILL and immediately started again. The figure is the time from the kill to the first answer.
// All files are read once before the first kill, so every system recovers from the page cache.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { machineLine, readOptions, scratchDirectory } from '@tenure/harness'
import { beanstalkdCases } from './recovery/beanstalkd.js'
import { type Figure, measureCase, type Skipped } from './recovery/case.js'
import { redisCases } from './recovery/redis.js'
import { tenureCases } from './recovery/tenure.js'

const { quick = false, json = false } = await readOptions(
  'pnpm bench:recovery [--quick] [--json]',
  {
    quick: 'boolean',
    json: 'boolean',
  },
)
const tasks = quick ? 100_000 : 1_000_000
const cases = [...tenureCases(tasks), ...beanstalkdCases(tasks), ...redisCases(tasks)]

const root = scratchDirectory()

if (!json) console.log(`${machineLine()}; page cache warm`)
for (const [index, own] of cases.entries()) {
  const directory = join(root, `${index}`)
  mkdirSync(directory)
  process.stderr.write(`${own.system}: ${own.name}\n`)
  tell(await measureCase(own, directory), quick ? undefined : own.target)
  rmSync(directory, { recursive: true })
}

function tell(figure: Figure | Skipped, target: number | undefined): void {
  if (json) {
    console.log(JSON.stringify({ ...figure, target }))
    return
  }
  const name = `${figure.system.padEnd(12)}${figure.case.padEnd(34)}`
  if ('skipped' in figure) {
    console.log(`${name}skipped: ${figure.skipped}`)
    return
  }
  const { liveTasks, records, seconds, least, most } = figure
  const held = `${liveTasks.toLocaleString('en')} live, ${records.toLocaleString('en')} records`
  const range = `${seconds.toFixed(2)} s (${least.toFixed(2)} to ${most.toFixed(2)})`
  const goal = target === undefined ? '' : `target <= ${target} s`
  console.log(`${name}${held.padEnd(38)}${range.padEnd(26)}${goal}`.trimEnd())
}
