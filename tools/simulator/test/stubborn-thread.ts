import { parentPort } from 'node:worker_threads'
import type { SeedOrder } from '../src/play/crew.js'
import { emptyTally } from '../src/play/tally.js'

// Replaces the thread that plays seeds: some seeds end it, others never return.

parentPort?.on('message', ({ seed }: SeedOrder) => {
  if (seed % 10 === 2) for (;;);
  if (seed % 10 === 4) process.exit(9)
  if (seed % 10 === 6) throw new Error('as planned')
  parentPort?.postMessage({ ...emptyTally(), seeds: 1, endings: { drained: 1 } })
})
