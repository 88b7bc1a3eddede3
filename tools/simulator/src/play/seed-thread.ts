import { parentPort } from 'node:worker_threads'
import { drawScenario } from '../scenario/draw.js'
import type { SeedOrder } from './crew.js'
import { run } from './run.js'
import { addOutcome, emptyTally } from './tally.js'

// Plays the seeds that it receives, and posts their results.

const port = parentPort
if (port === null) throw new Error('this program only runs in a thread of the simulator')

// Many errors are expected, and collecting their stack traces takes time.
Error.stackTraceLimit = 0

port.on('message', async ({ seed, log }: SeedOrder) => {
  const tally = emptyTally()
  addOutcome(tally, seed, await run(drawScenario(seed, log)), log)
  port.postMessage(tally)
})
