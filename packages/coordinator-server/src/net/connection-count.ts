/** How many connections there are, in all and from each address. */
export class ConnectionCount {
  readonly #byAddress = new Map<string, number>()
  #size = 0

  get size(): number {
    return this.#size
  }

  from(address: string): number {
    return this.#byAddress.get(address) ?? 0
  }

  add(address: string): void {
    this.#size++
    this.#byAddress.set(address, this.from(address) + 1)
  }

  remove(address: string): void {
    this.#size--
    const left = this.from(address) - 1
    if (left === 0) this.#byAddress.delete(address)
    else this.#byAddress.set(address, left)
  }
}
