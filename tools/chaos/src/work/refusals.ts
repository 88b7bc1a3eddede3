/**
 * How often submissions were rejected for a reason, during one filling of the disk and after it.
 */
export interface Refusal {
  readonly reason: string
  /** Number of the last filling that had begun, from 1; 0 before the first. */
  readonly fill: number
  readonly count: number
  readonly firstMs: number
  readonly lastMs: number
}

/** Counts rejections instead of listing them: each filling may cause thousands. */
export class Refusals {
  readonly #entries = new Map<string, Refusal>()
  #count = 0

  get count(): number {
    return this.#count
  }

  get list(): readonly Refusal[] {
    return [...this.#entries.values()]
  }

  add(reason: string, fill: number, nowMs: number): void {
    this.#count++
    const key = `${fill} ${reason}`
    const { count, firstMs } = this.#entries.get(key) ?? { count: 0, firstMs: nowMs }
    this.#entries.set(key, { reason, fill, count: count + 1, firstMs, lastMs: nowMs })
  }
}
