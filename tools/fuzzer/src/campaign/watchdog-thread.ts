import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { deserialize } from 'node:v8'
import { parentPort, workerData } from 'node:worker_threads'
import type { Input } from '../input/input.js'
import { describeFinding, keepFinding } from './finding-files.js'
import type { Watched } from './watchdog.js'

/** How long the process may take to end. */
const graceMs = 5000

const { beats, target, patienceMs, directory } = workerData as Watched
let { room } = workerData as Watched
let seen = 0

parentPort?.on('message', (larger: Uint8Array) => {
  room = larger
})

const watching = setInterval(() => {
  const count = Atomics.load(beats, 0)
  // Before the first input there is nothing that could hang.
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
  const input = deserialize(Uint8Array.from(room)) as Input
  const check = 'an input is done in time'
  const detail = `it is not done after ${patienceMs} ms`
  writeSync(2, describeFinding(keepFinding({ target, check, detail, input }, directory)))
}

/**
 * As whoever else finds something ends it, with exit code 1. A thread that hangs hears nobody but its
 * inspector, and in native code not even that one.
 */
function endProcess(): void {
  const session = new Session()
  session.connectToMainThread()
  session.post('Runtime.evaluate', { expression: 'process.exit(1)' })
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), graceMs)
}
