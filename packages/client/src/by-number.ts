const pageSize = 256
/** Of the first page, until something stands outside of it: many hold one thing or two in all their life. */
const firstPageSize = 8

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
    const page = this.#pageOf(number)
    return page?.things[number - page.start]
  }

  has(number: number): boolean {
    return this.get(number) !== undefined
  }

  set(number: number, thing: Thing): void {
    const page = this.#pageOf(number) ?? this.#addPage(number)
    let at = number - page.start
    if (at < 0 || at >= page.things.length) {
      widen(page)
      at = number - page.start
    }
    if (page.things[at] === undefined) {
      page.count++
      this.#size++
    }
    page.things[at] = thing
    if (at < page.firstAt) page.firstAt = at
  }

  delete(number: number): Thing | undefined {
    const page = this.#pageOf(number)
    if (page === undefined) return undefined
    const at = number - page.start
    const thing = page.things[at]
    if (thing === undefined) return undefined
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
    const block = number - (number % pageSize)
    // What is asked for is most often the oldest, or among the newest.
    if (this.#pages[0]?.block === block) return this.#pages[0]
    for (let index = this.#pages.length - 1; index > 0; index--) {
      if (this.#pages[index]!.block === block) return this.#pages[index]
    }
    return undefined
  }

  #addPage(number: number): Page<Thing> {
    const size = this.#pages.length === 0 ? firstPageSize : pageSize
    if (this.#pages.at(-1)?.count === 0) this.#pages.pop()
    const block = number - (number % pageSize)
    const start = number - (number % size)
    const page = { block, start, things: empty<Thing>(size), count: 0, firstAt: size }
    const before = this.#pages.findLastIndex((other) => isBefore(other.block, block))
    this.#pages.splice(before + 1, 0, page)
    return page
  }
}

interface Page<Thing> {
  /** The first of the numbers that stand on this page and on no other. */
  readonly block: number
  /** The number of the first of its things. */
  start: number
  things: (Thing | undefined)[]
  count: number
  /** Nothing stands before it. */
  firstAt: number
}

function empty<Thing>(size: number): (Thing | undefined)[] {
  return new Array<Thing | undefined>(size).fill(undefined)
}

/** Makes room for all numbers of the page. */
function widen<Thing>(page: Page<Thing>): void {
  const things = empty<Thing>(pageSize)
  const from = page.start - page.block
  for (let at = 0; at < page.things.length; at++) things[from + at] = page.things[at]
  page.things = things
  page.start = page.block
  page.firstAt += from
}

/** Nothing waits for so long that half of all numbers are given out meanwhile. */
function isBefore(one: number, other: number): boolean {
  return ((one - other) | 0) < 0
}
