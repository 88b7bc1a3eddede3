import { comesBefore, type TaskRows } from './task-rows.js'

/**
 * Tasks by `(due, task_id)`, smallest first. `place` of a task is its place in the heap, from 1, so
 * that any task can be removed. The children of place p are at 4p-2 to 4p+1. Four children make the
 * heap half as deep as two, and depth costs cache misses.
 */
export class Heap {
  readonly #tasks: TaskRows
  /** Allocated with the first task, because every queue has a heap and most stay empty. */
  #rows = none
  #size = 0

  constructor(tasks: TaskRows) {
    this.#tasks = tasks
  }

  get size(): number {
    return this.#size
  }

  /** How many places are allocated, including free ones. */
  get slots(): number {
    return this.#rows.length
  }

  /** The smallest one's row, or 0. */
  get first(): number {
    return this.#size === 0 ? 0 : this.#rows[1]!
  }

  add(row: number): void {
    this.#size++
    if (this.#size >= this.#rows.length) this.#resize(Math.max(slotsMin, this.#rows.length * 2))
    this.#rise(row, this.#size)
  }

  remove(row: number): void {
    const place = this.#tasks.place.get(row)
    const last = this.#rows[this.#size]!
    this.#size--
    this.#tasks.place.set(row, 0)
    if (row === last) return
    // The last task takes the free place and moves up or down from there.
    this.#sink(last, place)
    this.#rise(last, this.#tasks.place.get(last))
    if (this.#size < this.#rows.length / 4 && this.#rows.length > slotsMin)
      this.#resize(this.#rows.length / 2)
  }

  sorted(): Uint32Array {
    const { due, taskId } = this.#tasks
    const rows = this.#rows.slice(1, this.#size + 1)
    return rows.sort((a, b) => due.get(a) - due.get(b) || taskId.get(a) - taskId.get(b))
  }

  /**
   * How many tasks precede the row, which may or may not be in the heap, counted up to `most`.
   * Children of a task that does not precede the row need no look, so the cost depends on the count
   * only.
   */
  countBefore(row: number, most: number): number {
    let count = 0
    const places = [1]
    for (let place = places.pop(); place !== undefined && count < most; place = places.pop()) {
      if (place > this.#size || !comesBefore(this.#tasks, this.#rows[place]!, row)) continue
      count++
      for (let child = 4 * place - 2; child <= 4 * place + 1; child++) places.push(child)
    }
    return count
  }

  /** Checks that each task knows its place, and that no task is below a later one. */
  *faults(): Generator<string> {
    for (let place = 1; place <= this.#size; place++) {
      const row = this.#rows[place]!
      const above = this.#rows[(place + 2) >>> 2]!
      if (this.#tasks.place.get(row) !== place) yield `has row ${row} in another place of its heap`
      if (place > 1 && comesBefore(this.#tasks, row, above))
        yield `has row ${row} below row ${above} in its heap`
    }
  }

  #rise(row: number, from: number): void {
    let place = from
    while (place > 1) {
      const parent = (place + 2) >>> 2
      const above = this.#rows[parent]!
      if (!comesBefore(this.#tasks, row, above)) break
      this.#put(above, place)
      place = parent
    }
    this.#put(row, place)
  }

  #sink(row: number, from: number): void {
    let place = from
    while (true) {
      const child = this.#smallestChild(place)
      if (child === 0 || !comesBefore(this.#tasks, this.#rows[child]!, row)) break
      this.#put(this.#rows[child]!, place)
      place = child
    }
    this.#put(row, place)
  }

  /** A place, or 0 if there is no child. */
  #smallestChild(place: number): number {
    const first = 4 * place - 2
    const last = Math.min(first + 3, this.#size)
    let smallest = first <= last ? first : 0
    for (let child = first + 1; child <= last; child++) {
      if (comesBefore(this.#tasks, this.#rows[child]!, this.#rows[smallest]!)) smallest = child
    }
    return smallest
  }

  #put(row: number, place: number): void {
    this.#rows[place] = row
    this.#tasks.place.set(row, place)
  }

  #resize(length: number): void {
    const rows = new Uint32Array(length)
    rows.set(this.#rows.subarray(0, Math.min(length, this.#size + 1)))
    this.#rows = rows
  }
}

const slotsMin = 8
const none = new Uint32Array(0)
