import { randomUUID } from 'node:crypto'
/** The seam for randomness. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** A globally unique string. */
  id(): string
}

/** The system's randomness. */
export const systemRandom: Random = {
  next: () => Math.random(),
  id: () => randomUUID(),
}
