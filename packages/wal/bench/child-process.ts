import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./child.js', import.meta.url))

/** Lets a child carry out one task, and kills it once it has answered: nothing in it is closed. */
export async function askAndKill<Answer>(...task: readonly string[]): Promise<Answer> {
  const child = spawn(process.execPath, [script, ...task], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    return JSON.parse(await firstLineOf(child)) as Answer
  } finally {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
}

async function firstLineOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line
  throw new Error(`child process ${child.spawnargs.slice(2).join(' ')} ended without an answer`)
}
