const pageSize = 256
/** Size of the first page until an id outside it is added: many maps only ever hold one or two values. */
const firstPageSize = 8

/**
 * A map keyed by increasing u32 ids that wrap around, ordered by id.
 *
 * A Map with constant inserts and deletes rebuilds its hash table regularly, and each old table points to its
 * successor. If the collector has promoted one to the old generation, all later tables and their entries stay
 * alive until a full collection. That cost a third of a busy client's time.
 */
export class ByNumber<Thing> {
  /** The newest page is kept when it is empty: it will be reused immediately. */
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

  /** The value with the lowest id. */
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
    // Lookups mostly hit the oldest or the newest pages.
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
  /** The first id in this page's range of `pageSize` ids. */
  readonly block: number
  /** The id of the first slot. */
  start: number
  things: (Thing | undefined)[]
  count: number
  /** All slots before this one are empty. */
  firstAt: number
}

function empty<Thing>(size: number): (Thing | undefined)[] {
  return new Array<Thing | undefined>(size).fill(undefined)
}

/** Extends the first page to the full page size. */
function widen<Thing>(page: Page<Thing>): void {
  const things = empty<Thing>(pageSize)
  const from = page.start - page.block
  for (let at = 0; at < page.things.length; at++) things[from + at] = page.things[at]
  page.things = things
  page.start = page.block
  page.firstAt += from
}

/** Compares with wrap-around: no entry lives long enough for half of all ids to be used meanwhile. */
function isBefore(one: number, other: number): boolean {
  return ((one - other) | 0) < 0
}
