/**
 * The only source of randomness in a simulated world: the same seed gives the same world.
 *
 * The generator is sfc32 (128 bits of state, passes PractRand), seeded through splitmix32, so that seeds that
 * differ in one bit give unrelated sequences.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    if (!Number.isSafeInteger(seed)) throw new RangeError(`seed must be an integer, got ${seed}`)
    const low = splitmix32(seed >>> 0)
    const high = splitmix32(Math.floor(seed / 2 ** 32) ^ 0x9e37_79b9)
    this.#a = low()
    this.#b = high()
    this.#c = low() ^ high()
    // The first outputs still depend visibly on the seed.
    for (let i = 0; i < 12; i++) this.#word()
  }

  /** A number in [0, 1), with 53 random bits. */
  next(): number {
    return (this.#word() * 2 ** 21 + (this.#word() >>> 11)) / 2 ** 53
  }

  /** A whole number in [0, below). */
  integer(below: number): number {
    if (!Number.isSafeInteger(below) || below < 1) {
      throw new RangeError(`below must be a positive integer, got ${below}`)
    }
    return Math.floor(this.next() * below)
  }

  /** True with the given probability: never for 0, always for 1. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new RangeError('cannot pick from an empty array')
    return from[this.integer(from.length)] as T
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    for (let i = 0; i < length; i += 4) {
      const word = this.#word()
      for (let j = 0; j < 4 && i + j < length; j++) bytes[i + j] = word >>> (8 * j)
    }
    return bytes
  }

  /**
   * An independent generator. A part of a world that uses one may draw more or fewer numbers without
   * affecting the other parts.
   */
  fork(): Random {
    return new Random(this.#word() * 2 ** 21 + (this.#word() >>> 11))
  }

  #word(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }
}

function splitmix32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x9e37_79b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0_aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a_2d97)
    return mixed ^ (mixed >>> 15)
  }
}
