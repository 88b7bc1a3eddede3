/** The last bytes of something that may be long. */
export class Tail {
  readonly #bytesMax: number
  #kept = Buffer.alloc(0)
  #isCut = false

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  push(bytes: Uint8Array): void {
    const all = Buffer.concat([this.#kept, bytes.subarray(-this.#bytesMax)])
    this.#isCut ||= this.#kept.length + bytes.length > this.#bytesMax
    this.#kept = all.subarray(-this.#bytesMax)
  }

  /** From its first whole character on. */
  toString(): string {
    let start = 0
    while (this.#isCut && start < 4 && ((this.#kept[start] ?? 0) & 0xc0) === 0x80) start++
    const text = this.#kept.toString('utf8', start).trim()
    return this.#isCut ? `…${text}` : text
  }
}
