import { availableParallelism } from 'node:os'
import { parseOptions, parseWhole, runTool, UsageError } from '@tenure/harness'
import type { Fault } from './fault.js'
import { faults } from './faults.js'
import { describeTrials, tryAll } from './trials.js'

const usage = `pnpm test:faults [--only NAME] [--threads N] [--json]

Plants each known fault in a copy of the compiled code and runs the test that is named after what the
fault makes false. A fault passes when that test fails.

  --only NAME   Try only faults with this text in their name or in the name of their test.
  --threads N   Number of faults to try concurrently (default: the number of processors).
  --json        End with one line of JSON on standard output.`

await runTool(usage, async (args) => {
  const { only, threads, json } = parseOptions(args, {
    only: 'string',
    threads: 'string',
    json: 'boolean',
  })
  const count = threads === undefined ? availableParallelism() : parseWhole('threads', threads)
  const summary = await tryAll(chosen(only), count, process.stderr)
  console.log(json ? JSON.stringify(summary) : describeTrials(summary))
  return summary.failed === 0 ? 0 : 1
})

function chosen(only: string | undefined): readonly Fault[] {
  if (only === undefined) return faults
  const found = faults.filter(({ name, test }) => [name, ...test].join('\n').includes(only))
  if (found.length > 0) return found
  throw new UsageError(`--only ${only} matches no fault; give a part of a name or of a test's name`)
}
