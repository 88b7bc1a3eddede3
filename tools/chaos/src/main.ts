import { runTool } from '@tenure/testing'
import { parseCommandLine, usage } from './options.js'
import { runChaos } from './run.js'
import { describeSummary } from './summary.js'

const stopping = new AbortController()
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Told twice, by a terminal and by whoever started it, is told once.
  process.on(signal, () => stopping.abort(signal))
}

try {
  await runTool(usage, process.argv.slice(2), async (args) => {
    const { json, ...options } = parseCommandLine(args, Date.now() % 1_000_000)
    const summary = await runChaos(options, process.stderr, stopping.signal)
    console.log(json ? JSON.stringify(summary) : describeSummary(summary))
    return summary.violations.length === 0 ? 0 : 1
  })
} catch (error) {
  if (!stopping.signal.aborted) throw error
  process.exitCode = exitCodes[stopping.signal.reason as keyof typeof exitCodes]
}
