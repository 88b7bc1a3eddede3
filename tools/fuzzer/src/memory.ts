import { getHeapStatistics } from 'node:v8'
import { hold } from './violation.js'

/** What no answer to a single input can need: the values that pass the guard take a few mebibytes. */
const growthBytesMax = 48 * 2 ** 20

/** Does it, and sees that it takes no more memory than what is there can fill. */
export function withinMemory<T>(what: string, act: () => T): T {
  const before = takenBytes()
  const result = act()
  const grown = takenBytes() - before
  hold(grown <= growthBytesMax, 'memory grows with what has arrived', () => {
    return `${what} took ${grown} bytes`
  })
  return result
}

function takenBytes(): number {
  const { used_heap_size, external_memory } = getHeapStatistics()
  return used_heap_size + external_memory
}
