/** How long things took, in milliseconds. */
export class Latencies {
  readonly #all: number[] = []
  #isSorted = true

  get count(): number {
    return this.#all.length
  }

  add(ms: number): void {
    this.#all.push(ms)
    this.#isSorted = false
  }

  quantile(share: number): number {
    if (!this.#isSorted) this.#all.sort((a, b) => a - b)
    this.#isSorted = true
    return this.#all[Math.floor(this.#all.length * share)] ?? Number.NaN
  }
}
