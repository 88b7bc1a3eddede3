import { getHeapStatistics } from 'node:v8'
import { holds, Violation } from '@tenure/harness'

/** What no answer to a single input can need: the values that pass the guard take a few mebibytes. */
const growthBytesMax = 48 * 2 ** 20

/** Does it, and sees that it takes no more memory than what is there can fill. */
export function withinMemory<T>(what: string, act: () => T): T {
  const before = takenBytes()
  const result = act()
  const grown = takenBytes() - before
  holds(grown <= growthBytesMax, 'memory grows with what has arrived', () => {
    return `${what} took ${grown} bytes`
  })
  return result
}

function takenBytes(): number {
  const { used_heap_size, external_memory } = getHeapStatistics()
  return used_heap_size + external_memory
}

/** An error that nobody raised on purpose. */
export const untyped = 'nothing but typed errors is thrown'

/** Whatever was thrown, as what does not hold. */
export function toViolation(error: unknown): Violation {
  if (error instanceof Violation) return error
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return new Violation(untyped, detail, { cause: error })
}

/** The word of an error that was raised on purpose; another error is a violation. */
export function codeOf(error: unknown, isTyped: (error: Error) => boolean): string {
  if (!(error instanceof Error) || !isTyped(error)) throw toViolation(error)
  return 'code' in error ? String(error.code) : error.name
}
