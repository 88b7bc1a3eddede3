import { fileURLToPath } from 'node:url'
import { programOf } from '@tenure/harness'

export const coordinatorProgram = programOf(import.meta.resolve('@tenure/coordinator/package.json'))
export const workerProgram = programOf(import.meta.resolve('@tenure/worker/package.json'))

/** The module whose default export the workers run. */
export const handlerModule = fileURLToPath(new URL('./handler.js', import.meta.url))

/** Who copies the log. */
export const witnessProgram = fileURLToPath(new URL('./witness.js', import.meta.url))
