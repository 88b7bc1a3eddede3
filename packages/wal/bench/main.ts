import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeError, exitOnSignals, runTool, UsageError } from '@tenure/harness'
import { measureAppends } from './append-cases.js'
import { WorkDirectory } from './directory.js'
import { describeMachine, type Machine } from './machine.js'
import { measureMemory } from './memory-case.js'
import { type Bench, type BenchOptions, paceOf, parseCommandLine, usage } from './options.js'
import { measurePaths } from './paths.js'
import { drawPlot } from './plot.js'
import { measureRecovery } from './recovery-cases.js'
import type { Result } from './result.js'
import { measureRolls } from './roll-case.js'
import { measureSustained } from './sustained-case.js'
import { drawTables } from './table.js'

const repository = fileURLToPath(new URL('../../../..', import.meta.url))

// The `exit` of this process removes the files.
exitOnSignals()
await runTool(usage, async (args) => {
  await main(parseCommandLine(args))
  return 0
})

async function main(options: BenchOptions): Promise<void> {
  const directory = new WorkDirectory(join(options.dir ?? repository, `.bench-wal-${process.pid}`))
  process.stderr.write(`writing to ${directory.path} (${directory.fileSystem})\n`)
  if (options.paths) {
    await measurePaths(directory, options)
    return
  }
  makeOut(options.out)
  const machine = describeMachine(directory.fileSystem)
  const results = await measureAll(options, directory)
  directory.remove()
  if (options.json)
    for (const result of results) process.stdout.write(`${JSON.stringify(result)}\n`)
  else process.stdout.write(`${drawTables(machine, results, options.quick)}\n`)
  await writeOut(options.out, machine, results)
}

async function measureAll(options: BenchOptions, directory: WorkDirectory): Promise<Result[]> {
  const bench: Bench = { pace: paceOf(options), directory }
  return [
    ...(await measureAppends(bench)),
    await measureSustained(bench),
    ...(await measureRolls(bench)),
    ...(await measureRecovery(bench)),
    ...(await measureMemory(bench)),
  ]
}

/** Before the measurement, so that a bad path does not lose minutes of work. */
function makeOut(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true })
  } catch (error) {
    throw new UsageError(`--out: ${describeError(error)}`, { cause: error })
  }
}

async function writeOut(
  directory: string,
  machine: Machine,
  results: readonly Result[],
): Promise<void> {
  const lines = results.map((result) => `    ${JSON.stringify(result)}`).join(',\n')
  const json = `{\n  "machine": ${JSON.stringify(machine)},\n  "results": [\n${lines}\n  ]\n}\n`
  writeFileSync(join(directory, 'wal.json'), json)
  writeFileSync(join(directory, 'wal.svg'), await drawPlot(machine, results))
  process.stderr.write(`wrote ${join(directory, 'wal.json')} and ${join(directory, 'wal.svg')}\n`)
}
