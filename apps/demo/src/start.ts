import { join, resolve } from 'node:path'
import type { AppProcess } from '@tenure/testing'
import { showLine } from './log-line.js'
import { type Flags, startProgram } from './program.js'

/**
 * `pnpm start`: a coordinator with its data in ./tenure-data and a worker with an example handler,
 * until Ctrl-C. What is given on the command line goes to the coordinator.
 */
const handler = join(import.meta.dirname, '../../../../examples/greet.mjs')
const programs: AppProcess[] = []
let isStopping = false

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop())
try {
  await start()
} catch (error) {
  if (!isStopping) {
    console.error(`tenure: ${(error as Error).message}`)
    process.exitCode = 1
  }
  await stop()
}

async function start(): Promise<void> {
  const words = process.argv.slice(2)
  const coordinator = run('coordinator', { 'data-dir': resolve('tenure-data') }, words)
  const { port } = await coordinator.line('started')
  const worker = run('worker', { handler, coordinator: `127.0.0.1:${port}` })
  await worker.line('started')
  console.log(invite(Number(port)))
  const first = await Promise.race([
    coordinator.exited.then(() => 'coordinator'),
    worker.exited.then(() => 'worker'),
  ])
  throw new Error(`the ${first} has ended`)
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

/** The worker first, so that it can report what it has done. The second call asks nobody. */
async function stop(): Promise<void> {
  const signal = isStopping ? 'SIGKILL' : 'SIGTERM'
  isStopping = true
  for (const program of programs.toReversed()) {
    program.kill(signal)
    await program.exited
  }
}

function invite(port: number): string {
  const where = port === 7411 ? '' : ` --coordinator 127.0.0.1:${port}`
  return `
Tenure is running. In a second terminal, in this directory:

    npx pnpm tenure submit Ada --wait${where}

The worker runs examples/greet.mjs. The data is in ./tenure-data and stays there; Ctrl-C stops both.
`
}
