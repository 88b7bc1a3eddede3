import { isDeepStrictEqual } from 'node:util'

/** The assertions of a tap test that are used here. */
interface Assertions {
  ok(found: unknown, message: string): unknown
  equal(found: unknown, expected: unknown, message: string): unknown
  same(found: unknown, expected: unknown, message: string): unknown
  strictSame(found: unknown, expected: unknown, message: string): unknown
  match(found: unknown, expected: unknown, message: string): unknown
}

/**
 * Checks for loops with thousands of iterations. A check that holds is only counted: tap would write a line
 * and prepare a diff for each. A check that fails is repeated with tap. Assert on `count` after the loop,
 * because a loop without checks proves nothing.
 */
export class QuietChecks {
  readonly #assertions: Assertions
  #count = 0

  constructor(assertions: Assertions) {
    this.#assertions = assertions
  }

  get count(): number {
    return this.#count
  }

  ok(found: unknown, message = ''): void {
    this.#count++
    if (!found) this.#assertions.ok(found, message)
  }

  equal(found: unknown, expected: unknown, message = ''): void {
    this.#count++
    if (found !== expected) this.#assertions.equal(found, expected, message)
  }

  same(found: unknown, expected: unknown, message = ''): void {
    this.#count++
    if (!isDeepStrictEqual(found, expected)) this.#assertions.same(found, expected, message)
  }

  strictSame(found: unknown, expected: unknown, message = ''): void {
    this.#count++
    if (!isDeepStrictEqual(found, expected)) this.#assertions.strictSame(found, expected, message)
  }

  /** `expected` may omit fields of the first level; nested values must be equal. */
  match(found: object, expected: object, message = ''): void {
    this.#count++
    const isMatch = isDeepStrictEqual(found, { ...found, ...expected })
    if (!isMatch) this.#assertions.match(found, expected, message)
  }
}
