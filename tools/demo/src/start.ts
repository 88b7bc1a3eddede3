import { join, resolve } from 'node:path'
import type { AppProcess, LogLine } from '@tenure/testing'
import { type Flags, showLine, startProgram } from './program.js'

/**
 * `pnpm start`: runs a coordinator with its data in ./tenure-data and a worker with an example
 * handler, until Ctrl-C. The arguments go to the coordinator.
 */
const handler = join(import.meta.dirname, '../../../../examples/greet.mjs')
const programs: AppProcess[] = []
let stopping: Promise<void> | undefined

if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
  console.log(usage())
  process.exit()
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
try {
  await start()
} catch (error) {
  // After a signal, a program may end anywhere in its startup.
  if (stopping === undefined) {
    console.error(`tenure: ${(error as Error).message}`)
    process.exitCode = 1
  }
}
stopping ??= stop()
await stopping
console.log('Stopped. The tasks are kept in ./tenure-data.')

async function start(): Promise<void> {
  const words = process.argv.slice(2)
  const coordinator = run('coordinator', { 'data-dir': resolve('tenure-data') }, words)
  const { port } = await begin('coordinator', coordinator)
  // Any free HTTP port: another worker on this machine may have the default one.
  const where = { coordinator: `127.0.0.1:${port}`, 'http-port': 0 }
  const worker = run('worker', { handler, ...where })
  await begin('worker', worker)
  console.log(invite(Number(port)))
  await Promise.race([explainEnd('coordinator', coordinator), explainEnd('worker', worker)])
}

async function begin(name: string, program: AppProcess): Promise<LogLine> {
  return Promise.race([program.line('started'), explainEnd(name, program)])
}

async function explainEnd(name: string, { exited }: AppProcess): Promise<never> {
  const { code, stderr } = await exited
  const why = stderr === '' ? 'see above' : stderr.trim()
  throw new Error(`the ${name} exited with code ${code}: ${why}`)
}

function run(name: 'coordinator' | 'worker', flags: Flags, words: readonly string[] = []) {
  const owner = { teardown: () => {} }
  const program = startProgram(
    owner,
    name,
    flags,
    (line) => console.log(showLine(name, line)),
    words,
  )
  programs.push(program)
  return program
}

/** The first signal stops gracefully, the second one kills. */
function onSignal(): void {
  if (stopping === undefined) stopping = stop()
  else for (const program of programs) program.kill('SIGKILL')
}

/** The worker stops first, so that it can report its running tasks. */
async function stop(): Promise<void> {
  for (const program of programs.toReversed()) await program.stop()
}

function invite(port: number): string {
  const where = port === 7411 ? '' : ` --coordinator 127.0.0.1:${port}`
  return `
Tenure is running. In a second terminal, in this directory:

    npx pnpm tenure submit Ada --wait${where}

The worker runs examples/greet.mjs. Ctrl-C stops both. The tasks are kept in ./tenure-data.
`
}

function usage(): string {
  return `Usage: npx pnpm start [flags of the coordinator]

Run a coordinator with its data in ./tenure-data and a worker with examples/greet.mjs, until
Ctrl-C. All flags go to the coordinator:

    npx pnpm start --port 7500 --lease-duration 5s

List the flags: node apps/coordinator/dist/src/main.js --help`
}
