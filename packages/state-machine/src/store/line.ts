import { Heap } from './heap.js'
import { comesBefore, type TaskRows } from './task-rows.js'

/** `place` of a task that stands in the chain, and of one that stands in no line. */
const inChain = 0xffff_ffff
const nowhere = 0

/**
 * Tasks in the order of `(due, task_id)`: those of one queue that wait, those that are leased, those
 * that have ended. Every task stands in exactly one line.
 *
 * Almost everybody joins at the end: time does not go back, and leases are of one length. They form
 * a chain, in which joining and leaving cost the same at any length. The others (a backoff, a
 * `not_before`, a shorter window) stand in a heap. The first of the line is the first of the two.
 */
export class Line {
  readonly #tasks: TaskRows
  readonly #heap: Heap
  #first = 0
  #last = 0
  #inChain = 0

  constructor(tasks: TaskRows) {
    this.#tasks = tasks
    this.#heap = new Heap(tasks)
  }

  get size(): number {
    return this.#inChain + this.#heap.size
  }

  /** How many of them stand in the heap. */
  get heaped(): number {
    return this.#heap.size
  }

  /** The first task's row, or 0. */
  get first(): number {
    const inHeap = this.#heap.first
    if (inHeap === 0) return this.#first
    if (this.#first === 0) return inHeap
    return comesBefore(this.#tasks, this.#first, inHeap) ? this.#first : inHeap
  }

  /** `chainUntil`: a task that is due later may be overtaken by many, so it does not join the chain. */
  join(row: number, chainUntil: number): void {
    const { due, previous, next, place } = this.#tasks
    const last = this.#last
    const atTheEnd = last === 0 || comesBefore(this.#tasks, last, row)
    if (due.get(row) > chainUntil || !atTheEnd) {
      this.#heap.add(row)
      return
    }
    previous.set(row, last)
    next.set(row, 0)
    place.set(row, inChain)
    if (last === 0) this.#first = row
    else next.set(last, row)
    this.#last = row
    this.#inChain++
  }

  /** Takes the task out. One that is withheld has left before. */
  leave(row: number): void {
    const { previous, next, place } = this.#tasks
    if (place.get(row) === nowhere) return
    if (place.get(row) !== inChain) {
      this.#heap.remove(row)
      return
    }
    const before = previous.get(row)
    const after = next.get(row)
    if (before === 0) this.#first = after
    else next.set(before, after)
    if (after === 0) this.#last = before
    else previous.set(after, before)
    place.set(row, nowhere)
    this.#inChain--
  }

  /** How many come before the row, which may stand in the line or not, counted up to `most`. */
  countBefore(row: number, most: number): number {
    const inHeap = this.#heap.countBefore(row, most)
    return inHeap + this.#countChainBefore(row, most - inHeap)
  }

  #countChainBefore(row: number, most: number): number {
    const { previous, next, place } = this.#tasks
    const isChained = place.get(row) === inChain
    const step = isChained ? previous : next
    let count = 0
    for (let at = isChained ? previous.get(row) : this.#first; at !== 0; at = step.get(at)) {
      if (count === most || !comesBefore(this.#tasks, at, row)) break
      count++
    }
    return count
  }

  /** In order. Sorts what stands in the heap, so it is for looking, not for working. */
  *rows(): Generator<number> {
    const heap = this.#heap.sorted()
    let chained = this.#first
    for (const row of heap) {
      while (chained !== 0 && comesBefore(this.#tasks, chained, row)) {
        yield chained
        chained = this.#tasks.next.get(chained)
      }
      yield row
    }
    for (; chained !== 0; chained = this.#tasks.next.get(chained)) yield chained
  }

  /** Whether the links, places and counts fit each other and the order. */
  *faults(): Generator<string> {
    const { previous, next, place } = this.#tasks
    let last = 0
    let chained = 0
    for (let row = this.#first; row !== 0; row = next.get(row)) {
      chained++
      if (place.get(row) !== inChain) yield `has row ${row} in its chain, which is not`
      if (previous.get(row) !== last) yield `does not lead back from row ${row}`
      if (last !== 0 && !comesBefore(this.#tasks, last, row)) yield `is out of order at row ${row}`
      last = row
      // More than there are: the links lead round and round.
      if (chained > this.#inChain) break
    }
    if (chained !== this.#inChain) yield `counts ${this.#inChain} tasks and has ${chained} in chain`
    else if (last !== this.#last) yield 'does not end with its last task'
    yield* this.#heap.faults()
  }
}
