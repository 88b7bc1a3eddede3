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
export class IdMap<Value> {
  /** The newest page is kept when it is empty: it will be reused immediately. */
  #pages: Page<Value>[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  get(id: number): Value | undefined {
    const page = this.#pageOf(id)
    return page?.values[id - page.start]
  }

  has(id: number): boolean {
    return this.get(id) !== undefined
  }

  set(id: number, value: Value): void {
    const page = this.#pageOf(id) ?? this.#addPage(id)
    let at = id - page.start
    if (at < 0 || at >= page.values.length) {
      widen(page)
      at = id - page.start
    }
    if (page.values[at] === undefined) {
      page.count++
      this.#size++
    }
    page.values[at] = value
    if (at < page.firstAt) page.firstAt = at
  }

  delete(id: number): Value | undefined {
    const page = this.#pageOf(id)
    if (page === undefined) return undefined
    const at = id - page.start
    const value = page.values[at]
    if (value === undefined) return undefined
    page.values[at] = undefined
    page.count--
    this.#size--
    if (page.count === 0 && page !== this.#pages.at(-1)) {
      this.#pages.splice(this.#pages.indexOf(page), 1)
    }
    return value
  }

  /** The value with the lowest id. */
  first(): Value | undefined {
    if (this.#size === 0) return undefined
    const page = this.#pages[0]!
    while (page.values[page.firstAt] === undefined) page.firstAt++
    return page.values[page.firstAt]
  }

  all(): Value[] {
    return this.#pages.flatMap(({ values }) => values.filter((value) => value !== undefined))
  }

  clear(): void {
    this.#pages = []
    this.#size = 0
  }

  #pageOf(id: number): Page<Value> | undefined {
    const block = id - (id % pageSize)
    // Lookups mostly hit the oldest or the newest pages.
    if (this.#pages[0]?.block === block) return this.#pages[0]
    for (let index = this.#pages.length - 1; index > 0; index--) {
      if (this.#pages[index]!.block === block) return this.#pages[index]
    }
    return undefined
  }

  #addPage(id: number): Page<Value> {
    const size = this.#pages.length === 0 ? firstPageSize : pageSize
    if (this.#pages.at(-1)?.count === 0) this.#pages.pop()
    const block = id - (id % pageSize)
    const start = id - (id % size)
    const page = { block, start, values: empty<Value>(size), count: 0, firstAt: size }
    const before = this.#pages.findLastIndex((other) => isBefore(other.block, block))
    this.#pages.splice(before + 1, 0, page)
    return page
  }
}

interface Page<Value> {
  /** The first id in this page's range of `pageSize` ids. */
  readonly block: number
  /** The id of the first slot. */
  start: number
  values: (Value | undefined)[]
  count: number
  /** All slots before this one are empty. */
  firstAt: number
}

function empty<Value>(size: number): (Value | undefined)[] {
  return new Array<Value | undefined>(size).fill(undefined)
}

/** Extends the first page to the full page size. */
function widen<Value>(page: Page<Value>): void {
  const values = empty<Value>(pageSize)
  const from = page.start - page.block
  for (let at = 0; at < page.values.length; at++) values[from + at] = page.values[at]
  page.values = values
  page.start = page.block
  page.firstAt += from
}

/** Compares with wrap-around: no entry lives long enough for half of all ids to be used meanwhile. */
function isBefore(one: number, other: number): boolean {
  return ((one - other) | 0) < 0
}
