/** Something that must never be. `check` names the rule in words that stay, the message tells what it was this time. */
export class Violation<Check extends string = string> extends Error {
  readonly check: Check

  constructor(check: Check, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Violation'
    this.check = check
  }
}

/** A tool whose checks have a type of their own gives `holds` that type. */
export type Holds<Check extends string> = (
  condition: boolean,
  check: Check,
  message: () => string,
) => asserts condition

export const holds: Holds<string> = (condition, check, message) => {
  if (!condition) throw new Violation(check, message())
}

/** What an error says of itself. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? ` (${String(error.code)})` : ''
  return `${error.name}${code}: ${error.message}`
}
