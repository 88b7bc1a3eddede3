import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Result } from './result.js'

const run = promisify(execFile)
const script = fileURLToPath(new URL('./child.js', import.meta.url))

/** Lets a new process measure, so that none finds what another has left in the heap. */
export async function measureInChild(name: string, isQuick: boolean): Promise<Result[]> {
  const running = run(process.execPath, ['--expose-gc', script, name, isQuick ? 'quick' : 'full'])
  running.child.stderr?.pipe(process.stderr)
  // Whoever stops the benchmark does not want to wait for what it has started.
  const stop = () => running.child.kill('SIGKILL')
  process.once('exit', stop)
  try {
    return JSON.parse((await running).stdout) as Result[]
  } finally {
    process.off('exit', stop)
  }
}
