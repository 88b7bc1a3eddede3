import type { Random } from '@tenure/seams'

const prefixCharacters = 8

/**
 * Names for reports. They are compared among the reports under one lease only, so a short one does, and
 * the log is the smaller for it.
 */
export class ReportIds {
  readonly #prefix: string
  #count = 0

  constructor(random: Random) {
    this.#prefix = random.id().slice(0, prefixCharacters)
  }

  next(): string {
    this.#count++
    return `${this.#prefix}-${this.#count}`
  }
}
