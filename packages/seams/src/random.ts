/** The seam to chance. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** A text that nobody else will ever make. */
  id(): string
}
