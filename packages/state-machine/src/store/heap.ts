import { comesBefore, type TaskRows } from './task-rows.js'

/**
 * Tasks by `(due, task_id)`, the smallest first. `place` of a task is its place in the heap, from 1
 * on, so that any of them can be taken out. The children of place p are at 4p-2 to 4p+1: four to a
 * parent make the heap half as deep as two would, and depth is what a cold cache pays for.
 */
export class Heap {
  readonly #tasks: TaskRows
  /** Most lines need none, and a queue is a line: none is made before the first task comes. */
  #rows = none
  #size = 0

  constructor(tasks: TaskRows) {
    this.#tasks = tasks
  }

  get size(): number {
    return this.#size
  }

  /** How many places there are, free ones included. */
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
    // The last one takes the empty place, and goes up or down from there.
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
   * How many come before the row, which may stand in it or not, counted up to `most`. Nobody comes
   * before it below one who does not, so it costs what is counted, however many there are.
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

  /** Whether each one knows its place, and none stands above one that is before it. */
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

  /** A place, or 0 when there is no child. */
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
