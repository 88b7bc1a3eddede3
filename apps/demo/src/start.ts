import { join, resolve } from 'node:path'
import { showLine } from './log-line.js'
import { Program } from './program.js'

/**
 * `pnpm start`: a coordinator with its data in ./tenure-data and a worker with an example handler,
 * until Ctrl-C. What is given on the command line goes to the coordinator.
 */
const handler = join(import.meta.dirname, '../../../../examples/greet.mjs')
const programs: Program[] = []
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
  const coordinator = run('coordinator', [
    '--data-dir',
    resolve('tenure-data'),
    ...process.argv.slice(2),
  ])
  const { port } = await coordinator.saying('started')
  const address = `127.0.0.1:${port}`
  const worker = run('worker', ['--handler', handler, '--coordinator', address])
  await worker.saying('started')
  console.log(invite(Number(port)))
  const [who] = await Promise.race(
    programs.map((program) =>
      program.exited.then(() => [program === worker ? 'worker' : 'coordinator']),
    ),
  )
  throw new Error(`the ${who} has ended`)
}

function run(name: 'coordinator' | 'worker', args: readonly string[]): Program {
  const program = new Program(name, args, (line) => console.log(showLine(name, line)))
  programs.push(program)
  return program
}

/** The worker first, so that it can report what it has done. The second call asks nobody. */
async function stop(): Promise<void> {
  const signal = isStopping ? 'SIGKILL' : 'SIGTERM'
  isStopping = true
  for (const program of programs.toReversed()) await program.end(signal)
}

function invite(port: number): string {
  const where = port === 7411 ? '' : ` --coordinator 127.0.0.1:${port}`
  return `
Tenure is running. In a second terminal, in this directory:

    npx pnpm tenure submit Ada --wait${where}

The worker runs examples/greet.mjs. The data is in ./tenure-data and stays there; Ctrl-C stops both.
`
}
