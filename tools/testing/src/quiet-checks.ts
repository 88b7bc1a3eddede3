import { isDeepStrictEqual } from 'node:util'

/** What of a test of tap is needed here. */
interface Assertions {
  ok(found: unknown, message: string): unknown
  equal(found: unknown, expected: unknown, message: string): unknown
  same(found: unknown, expected: unknown, message: string): unknown
  strictSame(found: unknown, expected: unknown, message: string): unknown
  match(found: unknown, expected: unknown, message: string): unknown
}

/**
 * For loops that check thousands of times. A check that holds is only counted: tap writes a line for
 * each, and gets ready to tell of a difference whether there is one or not. One that does not hold is
 * made again by tap. Whoever loops asks in the end for `count`: a loop that checks nothing proves nothing.
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

  /** `expected` may leave out fields of the first level, and nothing below it is a pattern. */
  match(found: object, expected: object, message = ''): void {
    this.#count++
    const isMatch = isDeepStrictEqual(found, { ...found, ...expected })
    if (!isMatch) this.#assertions.match(found, expected, message)
  }
}
