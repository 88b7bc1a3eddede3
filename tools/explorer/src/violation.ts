/** What was found to be wrong: the rule in words, and what was there instead. */
export class Violation extends Error {
  readonly rule: string
  readonly found: string

  constructor(rule: string, found: string) {
    super(`${rule}: ${found}`)
    this.rule = rule
    this.found = found
  }
}
