import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expectedAppendMs, measureAppends } from './append-cases.js'
import type { Bench } from './bench.js'
import { WorkDirectory } from './directory.js'
import { describeMachine, type Machine } from './machine.js'
import { expectedMemoryMs, measureMemory } from './memory-case.js'
import { type BenchOptions, help, messageOf, paceOf, readOptions, UsageError } from './options.js'
import { measurePaths } from './paths.js'
import { drawPlot } from './plot.js'
import { Progress } from './progress.js'
import { expectedRecoveryMs, measureRecovery } from './recovery-cases.js'
import type { Result } from './result.js'
import { measureRolls } from './roll-case.js'
import { drawTables } from './table.js'

// Seen from dist/bench. The results go beside the sources, where git does not look.
const defaultOut = fileURLToPath(new URL('../../bench/results', import.meta.url))
const repository = fileURLToPath(new URL('../../../..', import.meta.url))

// `exit` removes what was written; without these, a signal would end the process without it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(130))
}

try {
  await main(readOptions(process.argv.slice(2), defaultOut))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n--help lists what there is.\n`)
  process.exitCode = 2
}

async function main(options: BenchOptions): Promise<void> {
  if (options.mode === 'help') {
    process.stdout.write(help)
    return
  }
  const directory = new WorkDirectory(join(options.dir ?? repository, `.bench-wal-${process.pid}`))
  process.stderr.write(`writing to ${directory.path} (${directory.fileSystem})\n`)
  if (options.mode === 'paths') {
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
  const pace = paceOf(options)
  const expectedMs =
    expectedAppendMs(pace) + pace.rollMs + expectedRecoveryMs(pace) + expectedMemoryMs
  const bench: Bench = { pace, directory, progress: new Progress(expectedMs) }
  return [
    ...(await measureAppends(bench)),
    ...(await measureRolls(bench)),
    ...(await measureRecovery(bench)),
    ...(await measureMemory(bench)),
  ]
}

/** Before anything is measured: whoever waited for minutes wants to keep what came out. */
function makeOut(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true })
  } catch (error) {
    throw new UsageError(`--out: ${messageOf(error)}`, { cause: error })
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
