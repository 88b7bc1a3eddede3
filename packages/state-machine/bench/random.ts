/** xorshift32. Gives the same numbers in every run, so that every run measures the same records. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0 || 1
  }

  /** An integer from 0 to 2^32 - 1. */
  next(): number {
    let state = this.#state
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    this.#state = state
    return state >>> 0
  }

  below(limit: number): number {
    return Math.floor((this.next() / 2 ** 32) * limit)
  }

  chance(share: number): boolean {
    return this.next() < share * 2 ** 32
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.next())
  }

  /** 36 characters that look like a UUID. */
  requestId(): string {
    const [a, b, c, d, e, f, g, h] = Array.from({ length: 8 }, () => this.#hex())
    return `${a}${b}-${c}-${d}-${e}-${f}${g}${h}`
  }

  #hex(): string {
    return fourDigits[this.next() >>> 16]!
  }
}

/** A lookup table, because each of a million request ids needs eight. */
const fourDigits = Array.from({ length: 2 ** 16 }, (_, number) =>
  number.toString(16).padStart(4, '0'),
)
