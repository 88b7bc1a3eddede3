import type { Test } from 'tap'

/** What is wrong, of which there has to be nothing: one assertion for thousands of checks. */
export class Faults {
  readonly #found: string[] = []

  check(isFine: boolean, fault: () => string): void {
    if (!isFine) this.#found.push(fault())
  }

  conclude(t: Test, name: string): void {
    t.strictSame(this.#found.splice(0).slice(0, 10), [], name)
  }
}
