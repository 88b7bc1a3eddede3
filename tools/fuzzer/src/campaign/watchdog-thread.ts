import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { deserialize } from 'node:v8'
import { parentPort, workerData } from 'node:worker_threads'
import type { Input } from '../input/input.js'
import { describeFinding, keepFinding } from './finding-files.js'
import type { Watched } from './watchdog.js'

/** Time limit for the process to exit. */
const graceMs = 5000

const { beats, target, patienceMs, directory } = workerData as Watched
let { buffer } = workerData as Watched
let seen = 0

parentPort?.on('message', (larger: Uint8Array) => {
  buffer = larger
})

const watching = setInterval(() => {
  const count = Atomics.load(beats, 0)
  // Nothing can hang before the first input.
  if (count !== seen || count === 0) {
    seen = count
    return
  }
  clearInterval(watching)
  try {
    saveInput()
  } finally {
    endProcess()
  }
}, patienceMs)

function saveInput(): void {
  const input = deserialize(Uint8Array.from(buffer)) as Input
  const check = 'every input finishes in time'
  const detail = `it did not finish within ${patienceMs} ms`
  writeSync(2, describeFinding(keepFinding({ target, check, detail, input }, directory)))
}

/**
 * Exits with code 1, as for every other finding. A hanging thread reacts only to its inspector, and
 * in native code not even to that.
 */
function endProcess(): void {
  const session = new Session()
  session.connectToMainThread()
  session.post('Runtime.evaluate', { expression: 'process.exit(1)' })
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), graceMs)
}
