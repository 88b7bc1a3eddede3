import type { Check } from './check.js'

/** Something that must never be, by the name of the check that saw it. */
export class Violation extends Error {
  readonly check: Check

  constructor(check: Check, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Violation'
    this.check = check
  }
}

export function holds(condition: boolean, check: Check, message: () => string): asserts condition {
  if (!condition) throw new Violation(check, message())
}

/** What an error says of itself, for whoever has to find out what happened. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? ` (${String(error.code)})` : ''
  return `${error.name}${code}: ${error.message}`
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
}
