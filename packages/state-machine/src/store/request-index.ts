import type { Blobs } from './blobs.js'
import { type HashKey, hashText } from './hash-text.js'
import type { TaskRows } from './task-rows.js'

/**
 * Maps a `request_id` to the row of its task. The ids themselves are stored before the payloads.
 * The index contains only rows, in many small hash tables, so that growing one moves few entries.
 *
 * Ids come from clients, so the hash is keyed: a client cannot choose ids that all collide.
 */
export class RequestIndex {
  readonly #tasks: TaskRows
  readonly #blobs: Blobs
  readonly #key: HashKey
  readonly #tables = Array.from({ length: tableCount }, () => new Table())

  constructor(tasks: TaskRows, blobs: Blobs, key: HashKey) {
    this.#tasks = tasks
    this.#blobs = blobs
    this.#key = key
  }

  get size(): number {
    return this.#tables.reduce((size, table) => size + table.size, 0)
  }

  hash(requestId: string): number {
    return hashText(requestId, this.#key)
  }

  /** The row of the task that was submitted with this id, or 0. */
  find(requestId: string, hash = this.hash(requestId)): number {
    const { input, requestIdBytes } = this.#tasks
    const table = this.#tableOf(hash)
    let slot = table.find(hash)
    while (slot !== none) {
      const row = table.row(slot)
      // Two ids rarely have the same hash, so compare the text only then.
      if (this.#blobs.beginsWithText(input.get(row), requestIdBytes.get(row), requestId)) return row
      slot = table.findNext(hash, slot)
    }
    return 0
  }

  /** The row's `input` starts with its id, which must not be in the index yet and must have this hash. */
  add(row: number, hash: number): void {
    this.#tasks.requestHash.set(row, hash)
    this.#tableOf(hash).add(hash, row)
  }

  remove(row: number): void {
    const hash = this.#tasks.requestHash.get(row)
    this.#tableOf(hash).remove(hash, row)
  }

  #tableOf(hash: number): Table {
    return this.#tables[hash >>> tableShift]!
  }
}

/** The upper bits of a hash select the table, the lower ones the slot. */
const tableBits = 8
const tableCount = 1 << tableBits
const tableShift = 32 - tableBits
const slotsMin = 16
const none = -1

/** Shared by all empty tables, so that a new state is cheap. Never written. */
const freeSlots = new Uint32Array(2 * slotsMin)

/** Open addressing with linear probing. A slot is a hash and a row; row 0 marks a free slot. */
class Table {
  #slots = freeSlots
  #mask = slotsMin - 1
  size = 0

  row(slot: number): number {
    return this.#slots[2 * slot + 1]!
  }

  find(hash: number): number {
    return this.#probe(hash, hash & this.#mask)
  }

  findNext(hash: number, slot: number): number {
    return this.#probe(hash, (slot + 1) & this.#mask)
  }

  add(hash: number, row: number): void {
    if (this.#slots === freeSlots) this.#slots = new Uint32Array(2 * slotsMin)
    if (this.size >= (this.#mask + 1) * 0.75) this.#grow()
    this.#insert(hash, row)
    this.size++
  }

  remove(hash: number, row: number): void {
    let hole = this.find(hash)
    while (this.row(hole) !== row) hole = this.findNext(hash, hole)
    // Entries that a collision pushed past the hole move back, so that no probe ends too early.
    for (let slot = (hole + 1) & this.#mask; this.row(slot) !== 0; slot = (slot + 1) & this.#mask) {
      const home = this.#slots[2 * slot]! & this.#mask
      if (((slot - home) & this.#mask) < ((slot - hole) & this.#mask)) continue
      this.#slots.copyWithin(2 * hole, 2 * slot, 2 * slot + 2)
      hole = slot
    }
    this.#slots[2 * hole + 1] = 0
    this.size--
  }

  #probe(hash: number, from: number): number {
    let slot = from
    while (this.row(slot) !== 0) {
      if (this.#slots[2 * slot] === hash) return slot
      slot = (slot + 1) & this.#mask
    }
    return none
  }

  #insert(hash: number, row: number): void {
    let slot = hash & this.#mask
    while (this.row(slot) !== 0) slot = (slot + 1) & this.#mask
    this.#slots[2 * slot] = hash
    this.#slots[2 * slot + 1] = row
  }

  #grow(): void {
    const slots = this.#slots
    this.#slots = new Uint32Array(slots.length * 2)
    this.#mask = slots.length - 1
    for (let slot = 0; slot < slots.length; slot += 2) {
      if (slots[slot + 1] !== 0) this.#insert(slots[slot]!, slots[slot + 1]!)
    }
  }
}
