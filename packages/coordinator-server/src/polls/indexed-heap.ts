/** An item of a heap. Only the heap uses `heapIndex`, the item's position from 0. */
export interface HeapItem {
  heapIndex: number
}

/** A binary heap whose items store their position, so that any item can be moved or removed. */
export class IndexedHeap<T extends HeapItem> {
  readonly #items: T[] = []
  readonly #compare: (one: T, other: T) => number

  /** `compare` is negative when the first item comes before the second. */
  constructor(compare: (one: T, other: T) => number) {
    this.#compare = compare
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    this.#put(item, this.#items.length)
    this.update(item)
  }

  /** Restores the heap after the order of an item has changed. */
  update(item: T): void {
    this.#rise(item)
    this.#sink(item)
  }

  remove(item: T): void {
    const last = this.#items.pop()!
    if (last === item) return
    this.#put(last, item.heapIndex)
    this.update(last)
  }

  #rise(item: T): void {
    for (let index = item.heapIndex; index > 0; index = item.heapIndex) {
      const parent = this.#items[(index - 1) >> 1]!
      if (this.#compare(item, parent) >= 0) return
      this.#swap(item, parent)
    }
  }

  #sink(item: T): void {
    for (let child = this.#firstChild(item); child !== undefined; child = this.#firstChild(item)) {
      if (this.#compare(child, item) >= 0) return
      this.#swap(child, item)
    }
  }

  #firstChild({ heapIndex }: T): T | undefined {
    const left = this.#items[2 * heapIndex + 1]
    const right = this.#items[2 * heapIndex + 2]
    if (left === undefined || right === undefined) return left
    return this.#compare(right, left) < 0 ? right : left
  }

  #swap(one: T, other: T): void {
    const { heapIndex } = one
    this.#put(one, other.heapIndex)
    this.#put(other, heapIndex)
  }

  #put(item: T, index: number): void {
    this.#items[index] = item
    item.heapIndex = index
  }
}
