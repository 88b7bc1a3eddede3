import { randomUUID } from 'node:crypto'
import type { Random } from './random.js'

/** The machine's own chance. */
export const systemRandom: Random = {
  next: () => Math.random(),
  id: () => randomUUID(),
}
