/**
 * Rows of numbers, about a thousand per page. A million JavaScript objects would cost several hundred
 * bytes each, and the garbage collector would visit all of them. A page is one buffer, which it neither
 * scans nor moves. Growing adds a page.
 *
 *     page   | row | row | row | ...
 *     row    | f64 f64 ... | u32 u32 ... | u8 u8 ... | up to 7 bytes unused |
 *
 * Row numbers start at 1, so that 0 can mean "none". A subclass declares its columns as fields, the
 * widest first, and then calls `seal`:
 *
 *     readonly taskId = this.f64()
 *     readonly attempt = this.u32()
 */
export abstract class Rows {
  readonly #pages: Page[] = []
  readonly #columns: Column[] = []
  #rowBytes = 0
  /** Rows from here on were never used. */
  #unused = 1
  readonly #removed: number[] = []

  /** How many rows are in use. */
  get size(): number {
    return this.#unused - 1 - this.#removed.length
  }

  /** The largest number of rows that were in use at the same time. */
  get capacity(): number {
    return this.#unused - 1
  }

  /** Makes sure that the next `add` cannot fail. */
  makeRoom(): void {
    const isPaged = this.#unused >>> pageBits < this.#pages.length
    if (!isPaged && this.#removed.length === 0) this.#pages.push(makePage(this.#rowBytes))
  }

  /** Adds a row of zeros and returns its number. */
  add(): number {
    this.makeRoom()
    return this.#removed.pop() ?? this.#unused++
  }

  remove(row: number): void {
    const start = (row & pageMask) * this.#rowBytes
    this.#pages[row >>> pageBits]!.u8.fill(0, start, start + this.#rowBytes)
    this.#removed.push(row)
  }

  /** Every row that was ever used. Removed rows are zeros. */
  protected *all(): Generator<number> {
    for (let row = 1; row < this.#unused; row++) yield row
  }

  protected f64(): F64Column {
    return this.#declare(new F64Column(this.#pages), 8)
  }

  protected u32(): U32Column {
    return this.#declare(new U32Column(this.#pages), 4)
  }

  protected u8(): U8Column {
    return this.#declare(new U8Column(this.#pages), 1)
  }

  protected seal(): void {
    this.#rowBytes = Math.ceil(this.#rowBytes / 8) * 8
    for (const column of this.#columns) column.setRowBytes(this.#rowBytes)
  }

  #declare<C extends Column>(column: C, bytes: number): C {
    column.setStart(this.#rowBytes)
    this.#rowBytes += bytes
    this.#columns.push(column)
    return column
  }
}

const pageBits = 10
const pageRows = 1 << pageBits
const pageMask = pageRows - 1

/** One buffer, viewed in each width. */
interface Page {
  readonly f64: Float64Array
  readonly u32: Uint32Array
  readonly u8: Uint8Array
}

function makePage(rowBytes: number): Page {
  const bytes = takePageMemory(pageRows * rowBytes)
  return { f64: new Float64Array(bytes), u32: new Uint32Array(bytes), u8: new Uint8Array(bytes) }
}

/** `start` and `stride` are counted in units of the column's width. */
abstract class Column {
  protected readonly pages: Page[]
  protected start = 0
  protected stride = 0
  readonly #width: number

  constructor(pages: Page[], width: number) {
    this.pages = pages
    this.#width = width
  }

  setStart(bytes: number): void {
    this.start = bytes / this.#width
  }

  setRowBytes(bytes: number): void {
    this.stride = bytes / this.#width
  }
}

/** Any numbers; integers are exact up to 2^53. */
export class F64Column extends Column {
  constructor(pages: Page[]) {
    super(pages, 8)
  }

  get(row: number): number {
    return this.pages[row >>> pageBits]!.f64[(row & pageMask) * this.stride + this.start]!
  }

  set(row: number, value: number): void {
    this.pages[row >>> pageBits]!.f64[(row & pageMask) * this.stride + this.start] = value
  }
}

/** Integers below 2^32. */
export class U32Column extends Column {
  constructor(pages: Page[]) {
    super(pages, 4)
  }

  get(row: number): number {
    return this.pages[row >>> pageBits]!.u32[(row & pageMask) * this.stride + this.start]!
  }

  set(row: number, value: number): void {
    this.pages[row >>> pageBits]!.u32[(row & pageMask) * this.stride + this.start] = value
  }
}

/** Integers below 256. */
export class U8Column extends Column {
  constructor(pages: Page[]) {
    super(pages, 1)
  }

  get(row: number): number {
    return this.pages[row >>> pageBits]!.u8[(row & pageMask) * this.stride + this.start]!
  }

  set(row: number, value: number): void {
    this.pages[row >>> pageBits]!.u8[(row & pageMask) * this.stride + this.start] = value
  }
}

/**
 * Memory for a page, filled with zeros. It is a SharedArrayBuffer although no thread shares it: V8
 * counts an ArrayBuffer's bytes as future garbage and would start a useless full collection for
 * every dozen megabytes of new tasks.
 */
export function takePageMemory(bytes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(bytes)
}

/** Maps each word to its position in the list, which is its number in a row. */
export function numbered<Word extends string>(
  words: readonly Word[],
): { readonly [W in Word]: number } {
  return Object.fromEntries(words.map((word, number) => [word, number])) as { [W in Word]: number }
}
