/** A broken rule. `check` is the stable name of the rule; the message describes this case. */
export class Violation<Check extends string = string> extends Error {
  readonly check: Check

  constructor(check: Check, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Violation'
    this.check = check
  }
}

/** A tool with its own type of checks assigns `holds` to this type. */
export type Holds<Check extends string> = (
  condition: boolean,
  check: Check,
  message: () => string,
) => asserts condition

export const holds: Holds<string> = (condition, check, message) => {
  if (!condition) throw new Violation(check, message())
}

/** The name, code and message of an error. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? ` (${String(error.code)})` : ''
  return `${error.name}${code}: ${error.message}`
}
