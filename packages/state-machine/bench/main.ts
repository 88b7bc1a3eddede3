import { askScript, exitOnSignals, machineLine, readOptions, tellStep } from '@tenure/harness'
import { usage } from './pace.js'
import type { Result } from './result.js'
import { drawReport } from './table.js'

const measurements = ['apply', 'scale', 'memory', 'memory-ids', 'survivors', 'gc']
const child = new URL('./child.js', import.meta.url)

// The `exit` of this process ends the child.
exitOnSignals()
const { json = false, quick = false } = await readOptions(usage, {
  json: 'boolean',
  quick: 'boolean',
})

// A missed target does not fail the run, because the speed does not show whether the code works.
const results: Result[] = []
for (const name of measurements) {
  tellStep(name)
  // A new process for each case, so that none finds garbage of another in the heap.
  const args = [name, quick ? 'quick' : 'full']
  const measured = await askScript<Result[]>(child, args, ['--expose-gc'])
  results.push(...measured)
  if (json) for (const result of measured) process.stdout.write(`${JSON.stringify(result)}\n`)
}
if (!json) process.stdout.write(`${drawReport(machineLine(), results, quick)}\n`)
