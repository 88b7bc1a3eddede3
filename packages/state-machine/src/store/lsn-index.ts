/**
 * Maps an LSN to the row of the task that it created, or whose current lease it granted. An LSN
 * does at most one of the two, so one index serves both.
 *
 * Nearby LSNs are used together and are kept together: one small hash table for each block of 4096
 * LSNs. A table that grows or shrinks moves at most 4096 entries, and an empty one is removed. A
 * single old task in a block costs the smallest table: 64 bytes, which V8 keeps on its heap. Within
 * a table an LSN's home slot is its low bits, so neighbours are adjacent and collisions are rare.
 */
export class LsnIndex {
  readonly #blocks = new Map<number, Block>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How many slots are allocated, including free ones. */
  get slots(): number {
    let slots = 0
    for (const block of this.#blocks.values()) slots += block.slots
    return slots
  }

  /** The row, or 0. Accepts any number: a number that is not an LSN is not in the index. */
  get(lsn: number): number {
    if (!Number.isSafeInteger(lsn)) return 0
    const number = Math.floor(lsn / blockLsns)
    return this.#blocks.get(number)?.get(lsn - number * blockLsns) ?? 0
  }

  /** `lsn` must not be in the index yet. */
  add(lsn: number, row: number): void {
    const number = Math.floor(lsn / blockLsns)
    let block = this.#blocks.get(number)
    if (block === undefined) {
      block = new Block()
      this.#blocks.set(number, block)
    }
    block.add(lsn - number * blockLsns, row)
    this.#size++
  }

  /** `lsn` must be in the index. */
  remove(lsn: number): void {
    const number = Math.floor(lsn / blockLsns)
    const block = this.#blocks.get(number)!
    block.remove(lsn - number * blockLsns)
    if (block.size === 0) this.#blocks.delete(number)
    this.#size--
  }

  /**
   * In order of LSN, from `from` on. The index may change meanwhile, except after the last entry
   * that was yielded.
   */
  *entries(from = 0): Generator<[lsn: number, row: number]> {
    const first = Math.floor(from / blockLsns)
    const numbers = [...this.#blocks.keys()].filter((number) => number >= first)
    for (const number of numbers.sort((a, b) => a - b)) {
      for (const [offset, row] of this.#blocks.get(number)?.sorted() ?? []) {
        const lsn = number * blockLsns + offset
        if (lsn >= from) yield [lsn, row]
      }
    }
  }
}

const blockLsns = 4096
const slotsMin = 8

/** Open addressing with linear probing. A slot is an offset and a row; row 0 marks a free slot. */
class Block {
  #pairs = new Uint32Array(2 * slotsMin)
  #mask = slotsMin - 1
  size = 0

  get slots(): number {
    return this.#mask + 1
  }

  get(offset: number): number {
    return this.#row(this.#find(offset))
  }

  add(offset: number, row: number): void {
    if (this.size >= this.slots * 0.75 && this.slots < blockLsns) this.#resize(this.slots * 2)
    this.#put(this.#find(offset), offset, row)
    this.size++
  }

  remove(offset: number): void {
    this.#empty(this.#find(offset))
    this.size--
    if (this.size < this.slots / 8 && this.slots > slotsMin) this.#resize(this.slots / 2)
  }

  sorted(): [offset: number, row: number][] {
    const entries: [number, number][] = []
    for (let slot = 0; slot < this.slots; slot++) {
      if (this.#row(slot) !== 0) entries.push([this.#offset(slot), this.#row(slot)])
    }
    return entries.sort(([a], [b]) => a - b)
  }

  #offset(slot: number): number {
    return this.#pairs[2 * slot]!
  }

  #row(slot: number): number {
    return this.#pairs[2 * slot + 1]!
  }

  #put(slot: number, offset: number, row: number): void {
    this.#pairs[2 * slot] = offset
    this.#pairs[2 * slot + 1] = row
  }

  /** The slot of the offset, or the free slot where it belongs. */
  #find(offset: number): number {
    let slot = offset & this.#mask
    while (this.#row(slot) !== 0 && this.#offset(slot) !== offset) slot = (slot + 1) & this.#mask
    return slot
  }

  #empty(slot: number): void {
    let hole = slot
    // Entries that a collision pushed past the hole move back, so that no probe ends too early. In
    // a table with one slot per LSN every entry is in its home slot, and there may be no free slot
    // to stop at.
    const isPerfect = this.slots === blockLsns
    for (
      let other = (hole + 1) & this.#mask;
      !isPerfect && this.#row(other) !== 0;
      other = (other + 1) & this.#mask
    ) {
      const home = this.#offset(other) & this.#mask
      if (((other - home) & this.#mask) < ((other - hole) & this.#mask)) continue
      this.#put(hole, this.#offset(other), this.#row(other))
      hole = other
    }
    this.#put(hole, 0, 0)
  }

  #resize(slots: number): void {
    const pairs = this.#pairs
    this.#pairs = new Uint32Array(2 * slots)
    this.#mask = slots - 1
    for (let at = 0; at < pairs.length; at += 2) {
      const [offset, row] = [pairs[at]!, pairs[at + 1]!]
      if (row !== 0) this.#put(this.#find(offset), offset, row)
    }
  }
}
