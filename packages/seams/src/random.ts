import { randomUUID } from 'node:crypto'
/** The seam to chance. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** A text that nobody else will ever make. */
  id(): string
}

/** The machine's own chance. */
export const systemRandom: Random = {
  next: () => Math.random(),
  id: () => randomUUID(),
}
