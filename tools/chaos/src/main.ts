import { runStoppableTool } from '@tenure/harness'
import { parseCommandLine, usage } from './options.js'
import { runChaos } from './run.js'
import { describeSummary } from './summary.js'

await runStoppableTool(usage, async (args, signal) => {
  const { json, ...options } = parseCommandLine(args, Date.now() % 1_000_000)
  const summary = await runChaos(options, process.stderr, signal)
  console.log(json ? JSON.stringify(summary) : describeSummary(summary))
  return summary.violations.length === 0 ? 0 : 1
})
