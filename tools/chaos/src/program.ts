import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built binaries, as the packages declare them. */
export const coordinatorProgram = binaryOf(
  import.meta.resolve('@tenure/coordinator/package.json'),
  'tenure-coordinator',
)
export const workerProgram = binaryOf(
  import.meta.resolve('@tenure/worker/package.json'),
  'tenure-worker',
)

/** The module whose default export the workers run. */
export const handlerModule = fileURLToPath(new URL('./handler.js', import.meta.url))

/** Who copies the log. */
export const witnessProgram = fileURLToPath(new URL('./witness.js', import.meta.url))

function binaryOf(manifestUrl: string, name: string): string {
  const path = fileURLToPath(manifestUrl)
  const { bin } = JSON.parse(readFileSync(path, 'utf8')) as { bin: Record<string, string> }
  const program = bin[name]
  if (program === undefined) throw new Error(`${path} declares no binary ${name}`)
  return join(dirname(path), program)
}
