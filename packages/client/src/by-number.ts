const pageSize = 256

/**
 * Things under numbers that go up, each below 2^32 and behind that from the beginning, in their order.
 *
 * Not a Map: one that much passes through makes a new table whenever the old one is full of holes, and each
 * table points to its follower. When the collector has taken one of them for old, it keeps every later one
 * with all that was ever in it, until it looks through the whole heap: a third of a busy client's time.
 */
export class ByNumber<Thing> {
  /** The newest one is kept when it is empty: the next thing is soon to come. */
  #pages: Page<Thing>[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  get(number: number): Thing | undefined {
    return this.#pageOf(number)?.things[number % pageSize]
  }

  has(number: number): boolean {
    return this.get(number) !== undefined
  }

  set(number: number, thing: Thing): void {
    const page = this.#pageOf(number) ?? this.#addPage(number)
    const at = number % pageSize
    if (page.things[at] === undefined) {
      page.count++
      this.#size++
    }
    page.things[at] = thing
    if (at < page.firstAt) page.firstAt = at
  }

  delete(number: number): Thing | undefined {
    const page = this.#pageOf(number)
    const at = number % pageSize
    const thing = page?.things[at]
    if (page === undefined || thing === undefined) return undefined
    page.things[at] = undefined
    page.count--
    this.#size--
    if (page.count === 0 && page !== this.#pages.at(-1)) {
      this.#pages.splice(this.#pages.indexOf(page), 1)
    }
    return thing
  }

  /** What stands under the lowest number. */
  first(): Thing | undefined {
    if (this.#size === 0) return undefined
    const page = this.#pages[0]!
    while (page.things[page.firstAt] === undefined) page.firstAt++
    return page.things[page.firstAt]
  }

  all(): Thing[] {
    return this.#pages.flatMap(({ things }) => things.filter((thing) => thing !== undefined))
  }

  clear(): void {
    this.#pages = []
    this.#size = 0
  }

  #pageOf(number: number): Page<Thing> | undefined {
    const start = number - (number % pageSize)
    // What is asked for is most often the oldest, or among the newest.
    if (this.#pages[0]?.start === start) return this.#pages[0]
    for (let index = this.#pages.length - 1; index > 0; index--) {
      if (this.#pages[index]!.start === start) return this.#pages[index]
    }
    return undefined
  }

  #addPage(number: number): Page<Thing> {
    if (this.#pages.at(-1)?.count === 0) this.#pages.pop()
    const things = new Array<Thing | undefined>(pageSize).fill(undefined)
    const start = number - (number % pageSize)
    const page = { start, things, count: 0, firstAt: pageSize }
    const before = this.#pages.findLastIndex((other) => isBefore(other.start, start))
    this.#pages.splice(before + 1, 0, page)
    return page
  }
}

interface Page<Thing> {
  readonly start: number
  readonly things: (Thing | undefined)[]
  count: number
  /** Nothing stands before it. */
  firstAt: number
}

/** Nothing waits for so long that half of all numbers are given out meanwhile. */
function isBefore(one: number, other: number): boolean {
  return ((one - other) | 0) < 0
}
