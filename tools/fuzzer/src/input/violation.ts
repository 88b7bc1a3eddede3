import { getHeapStatistics } from 'node:v8'
import { holds, Violation } from '@tenure/harness'

/** More than a single input may need: values that pass the guard take a few MiB. */
const growthBytesMax = 48 * 2 ** 20

/** Runs `act` and checks that it takes no more memory than the available bytes can fill. */
export function withinMemory<T>(what: string, act: () => T): T {
  const before = takenBytes()
  const result = act()
  const grown = takenBytes() - before
  holds(grown <= growthBytesMax, 'memory grows only with received bytes', () => {
    return `${what} took ${grown} bytes`
  })
  return result
}

function takenBytes(): number {
  const { used_heap_size, external_memory } = getHeapStatistics()
  return used_heap_size + external_memory
}

/** An error that was not raised on purpose. */
export const untyped = 'only typed errors are thrown'

/** Any thrown value as a violation. */
export function toViolation(error: unknown): Violation {
  if (error instanceof Violation) return error
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return new Violation(untyped, detail, { cause: error })
}

/** The code of an error that was raised on purpose; another error is a violation. */
export function codeOf(error: unknown, isTyped: (error: Error) => boolean): string {
  if (!(error instanceof Error) || !isTyped(error)) throw toViolation(error)
  return 'code' in error ? String(error.code) : error.name
}
