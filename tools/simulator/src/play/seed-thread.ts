import { parentPort } from 'node:worker_threads'
import { drawScenario } from '../scenario/draw.js'
import { run } from './run.js'
import { addOutcome, emptyTally } from './tally.js'

// Plays the seed that it is handed, and tells what came of it.

const port = parentPort
if (port === null) throw new Error('this runs in a thread of the simulator only')

// Many errors are made that somebody expects; where from is of no interest.
Error.stackTraceLimit = 0

port.on('message', async (seed: number) => {
  const tally = emptyTally()
  addOutcome(tally, seed, await run(drawScenario(seed)))
  port.postMessage(tally)
})
