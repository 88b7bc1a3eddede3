/** Something does not hold. `check` says what in words that stay, the message what it was this time. */
export class Violation extends Error {
  readonly check: string

  constructor(check: string, detail: string, options?: ErrorOptions) {
    super(detail, options)
    this.name = 'Violation'
    this.check = check
  }
}

export function hold(holds: boolean, check: string, detail: () => string): void {
  if (!holds) throw new Violation(check, detail())
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
