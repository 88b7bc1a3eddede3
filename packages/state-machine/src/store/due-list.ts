import { Heap } from './heap.js'
import { comesBefore, type TaskRows } from './task-rows.js'

/** `place` of a task in the chain, and of one that is in no list. */
const inChain = 0xffff_ffff
const nowhere = 0

/**
 * Tasks ordered by `(due, task_id)`: the waiting tasks of one queue, the leased tasks, or the ended
 * tasks. Every task is in exactly one due list.
 *
 * Almost every task is added at the end, because time does not go back and most leases have the
 * same length. These tasks form a chain, in which adding and removing take constant time. The
 * others (a backoff, a `not_before`, a shorter window) are in a heap. The first task of the list is
 * the smaller of the two first ones.
 */
export class DueList {
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

  /** How many of them are in the heap. */
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

  /** A task that is due after `chainUntil` goes to the heap, because many may be inserted before it. */
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

  /** Removes the task. A withheld task has been removed before. */
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

  /** How many tasks precede the row, which may or may not be in the list, counted up to `most`. */
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

  /** In order. Sorts the heap, so it is too slow for decisions. */
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

  /** Checks the links, the places, the counts and the order. */
  *faults(): Generator<string> {
    const { previous, next, place } = this.#tasks
    let last = 0
    let chained = 0
    for (let row = this.#first; row !== 0; row = next.get(row)) {
      chained++
      if (place.get(row) !== inChain) yield `has row ${row} in its chain that is not marked as such`
      if (previous.get(row) !== last) yield `has a wrong backward link at row ${row}`
      if (last !== 0 && !comesBefore(this.#tasks, last, row)) yield `is out of order at row ${row}`
      last = row
      // More than the list contains, so the links form a loop.
      if (chained > this.#inChain) break
    }
    if (chained !== this.#inChain) yield `counts ${this.#inChain} tasks and has ${chained} in chain`
    else if (last !== this.#last) yield 'does not end with its last task'
    yield* this.#heap.faults()
  }
}
