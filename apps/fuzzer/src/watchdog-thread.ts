import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import type { Watched } from './watchdog.js'

const { beats, what, patienceMs } = workerData as Watched
let seen = 0

setInterval(() => {
  const count = Atomics.load(beats, 0)
  if (count === seen) {
    writeSync(2, `${what}: input ${count} is not done after ${patienceMs} ms\n`)
    process.kill(process.pid, 'SIGKILL')
  }
  seen = count
}, patienceMs)
