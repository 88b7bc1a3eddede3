/**
 * From an LSN to the row of the task that it names: by creating it, or by granting the lease that
 * now owns it. An LSN does at most one of the two, so one index serves both.
 *
 * LSNs that are near each other are used together, so they are kept together: one small hash table
 * for each run of 4096 LSNs. A table that grows moves at most 4096 entries; one that is empty goes.
 * Within a table an LSN's home is its own low bits: neighbours are neighbours, collisions are rare.
 */
export class LsnIndex {
  readonly #blocks = new Map<number, Block>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The row, or 0. */
  get(lsn: number): number {
    const number = Math.floor(lsn / blockLsns)
    return this.#blocks.get(number)?.get(lsn - number * blockLsns) ?? 0
  }

  /** `lsn` is not in the index yet. */
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

  /** `lsn` is in the index. */
  remove(lsn: number): void {
    const number = Math.floor(lsn / blockLsns)
    const block = this.#blocks.get(number)!
    block.remove(lsn - number * blockLsns)
    if (block.size === 0) this.#blocks.delete(number)
    this.#size--
  }

  /** In order of LSN, from `from` on. The index may change meanwhile behind what was yielded. */
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
const slotsMin = 16

/** Open addressing with linear probing; a slot whose row is 0 is free. */
class Block {
  #offsets = new Uint16Array(slotsMin)
  #rows = new Uint32Array(slotsMin)
  #mask = slotsMin - 1
  size = 0

  get(offset: number): number {
    return this.#rows[this.#find(offset)]!
  }

  add(offset: number, row: number): void {
    if (this.size >= (this.#mask + 1) * 0.75 && this.#mask + 1 < blockLsns) this.#grow()
    const slot = this.#find(offset)
    this.#offsets[slot] = offset
    this.#rows[slot] = row
    this.size++
  }

  remove(offset: number): void {
    let hole = this.#find(offset)
    this.size--
    if (this.#mask === blockLsns - 1) {
      // As many slots as LSNs: everybody is at home, and there may be no free slot to stop at.
      this.#rows[hole] = 0
      return
    }
    // Whoever was pushed past the hole by a collision moves back, so that no probe ends too early.
    for (
      let slot = (hole + 1) & this.#mask;
      this.#rows[slot] !== 0;
      slot = (slot + 1) & this.#mask
    ) {
      const home = this.#offsets[slot]! & this.#mask
      if (((slot - home) & this.#mask) < ((slot - hole) & this.#mask)) continue
      this.#offsets[hole] = this.#offsets[slot]!
      this.#rows[hole] = this.#rows[slot]!
      hole = slot
    }
    this.#rows[hole] = 0
  }

  sorted(): [offset: number, row: number][] {
    const entries: [number, number][] = []
    for (const [slot, row] of this.#rows.entries()) {
      if (row !== 0) entries.push([this.#offsets[slot]!, row])
    }
    return entries.sort(([a], [b]) => a - b)
  }

  /** Where the offset is, or the free slot where it would go. */
  #find(offset: number): number {
    let slot = offset & this.#mask
    while (this.#rows[slot] !== 0 && this.#offsets[slot] !== offset) slot = (slot + 1) & this.#mask
    return slot
  }

  #grow(): void {
    const offsets = this.#offsets
    const rows = this.#rows
    this.#offsets = new Uint16Array(offsets.length * 2)
    this.#rows = new Uint32Array(offsets.length * 2)
    this.#mask = offsets.length * 2 - 1
    for (const [old, row] of rows.entries()) {
      if (row === 0) continue
      const slot = this.#find(offsets[old]!)
      this.#offsets[slot] = offsets[old]!
      this.#rows[slot] = row
    }
  }
}
