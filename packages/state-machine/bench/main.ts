import { measureInChild } from './child-process.js'
import { describeMachine } from './machine.js'
import { type BenchOptions, help, readOptions, UsageError } from './options.js'
import type { Result } from './result.js'
import { drawTable } from './table.js'

const measurements = ['apply', 'scale', 'memory', 'memory-ids', 'survivors', 'gc']

// `exit` ends the child; without these, a signal would end this process without it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(130))
}

try {
  await main(readOptions(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n--help lists what there is.\n`)
  process.exitCode = 2
}

/** A missed target is told, not punished: how fast it is says nothing of whether it works. */
async function main({ help: wantsHelp, json, quick }: BenchOptions): Promise<void> {
  if (wantsHelp) {
    process.stdout.write(help)
    return
  }
  const results: Result[] = []
  for (const name of measurements) {
    process.stderr.write(`${Math.round(performance.now() / 1000)} s: ${name}\n`)
    const measured = await measureInChild(name, quick)
    results.push(...measured)
    if (json) for (const result of measured) process.stdout.write(`${JSON.stringify(result)}\n`)
  }
  if (!json) process.stdout.write(`${drawTable(describeMachine(), results, quick)}\n`)
}
