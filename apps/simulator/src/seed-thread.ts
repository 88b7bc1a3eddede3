import { parentPort, workerData } from 'node:worker_threads'
import { run } from './run.js'
import { drawScenario } from './scenario/draw.js'
import { addOutcome, emptyTally } from './tally.js'

// Plays the seeds that it is handed, one after the other, and tells what came of them.

const port = parentPort
if (port === null) throw new Error('this runs in a thread of the simulator only')
const { current } = workerData as { readonly current: Float64Array }

// Many errors are made that somebody expects; where from is of no interest.
Error.stackTraceLimit = 0

port.on('message', async (seeds: readonly number[]) => {
  const tally = emptyTally()
  for (const seed of seeds) {
    // If it never comes back, whoever waits has to know from where.
    current[0] = seed
    addOutcome(tally, seed, await run(drawScenario(seed)))
  }
  port.postMessage(tally)
})
