import { UsageError } from '@tenure/testing'
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
  const { json, ...options } = parseCommandLine(process.argv.slice(2), Date.now() % 1_000_000)
  const summary = await runChaos(options, process.stderr, stopping.signal)
  console.log(json ? JSON.stringify(summary) : describeSummary(summary))
  process.exitCode = summary.violations.length === 0 ? 0 : 1
} catch (error) {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${usage}`)
    process.exitCode = 2
  } else if (stopping.signal.aborted) {
    process.exitCode = exitCodes[stopping.signal.reason as keyof typeof exitCodes]
  } else {
    throw error
  }
}
