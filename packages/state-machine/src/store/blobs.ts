import { StateMachineError } from '../errors.js'
import { takePageMemory } from './rows.js'

/**
 * Byte strings of all sizes: payloads, results, reasons. A Uint8Array for each would add about 200
 * bytes, so small ones share pages. All cells of a page have the same size. Each size is at most a
 * quarter larger than the previous one, so little space is wasted. Large ones have their own buffers.
 *
 *     page   | cell | cell | cell | ...
 *     cell   | length, u32 | content | unused |
 *
 * The number of a blob encodes its page and its cell. 0 is the empty blob.
 */
export class Blobs {
  readonly #pages: (Page | undefined)[] = []
  readonly #droppedPages: number[] = []
  readonly #sizes: Size[] = cellSizes.map((cellBytes) => new Size(cellBytes))
  readonly #large: (Buffer | undefined)[] = []
  readonly #removedLarge: number[] = []
  readonly #pagesMax: number
  #bytes = 0
  #count = 0

  /** `pagesMax` is smaller in tests, because 32 GiB of blobs take a while to create. */
  constructor(pagesMax = blobLimits.pagesMax) {
    this.#pagesMax = pagesMax
  }

  /** How many blobs exist, without the empty one. */
  get count(): number {
    return this.#count
  }

  /** How many pages hold small blobs. */
  get pages(): number {
    return this.#pages.length - this.#droppedPages.length
  }

  /** Total content of all blobs, without overhead. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Allocates `length` bytes, to be filled by `write` and `writeText`. Throws without any change if
   * the store is full.
   */
  add(length: number): number {
    if (length === 0) return 0
    const blob = length > smallBytesMax ? this.#addLarge(length) : this.#addSmall(length)
    this.#bytes += length
    this.#count++
    return blob
  }

  addBytes(bytes: Uint8Array): number {
    const blob = this.add(bytes.length)
    this.write(blob, 0, bytes)
    return blob
  }

  addText(text: string): number {
    const length = Buffer.byteLength(text)
    const blob = this.add(length)
    this.writeText(blob, 0, text, length)
    return blob
  }

  remove(blob: number): void {
    if (blob === 0) return
    this.#bytes -= this.length(blob)
    this.#count--
    if (blob >= firstLarge) {
      this.#large[blob - firstLarge] = undefined
      this.#removedLarge.push(blob - firstLarge)
      return
    }
    const page = this.#page(blob)
    page.giveBack(cellOf(blob))
    if (page.size.noteRoom(page) === 'drop') {
      this.#pages[page.number] = undefined
      this.#droppedPages.push(page.number)
    }
  }

  /** Whether the number can be a blob: its place exists. */
  holds(blob: number): boolean {
    if (blob >= firstLarge) return this.#large[blob - firstLarge] !== undefined
    return blob === 0 || this.#page(blob)?.hasCell(cellOf(blob)) === true
  }

  length(blob: number): number {
    if (blob === 0) return 0
    if (blob >= firstLarge) return this.#large[blob - firstLarge]!.length
    return this.#page(blob).length(cellOf(blob))
  }

  write(blob: number, offset: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#buffer(blob).set(bytes, this.#start(blob) + offset)
  }

  writeText(blob: number, offset: number, text: string, textBytes: number): void {
    if (textBytes === 0) return
    const buffer = this.#buffer(blob)
    const start = this.#start(blob) + offset
    if (textBytes > text.length || textBytes > quickTextBytes) {
      buffer.write(text, start, textBytes, 'utf8')
      return
    }
    // For short ASCII text this loop is faster than a call into native code.
    for (let index = 0; index < textBytes; index++) buffer[start + index] = text.charCodeAt(index)
  }

  /** Writes text in which every unit is one byte. */
  writeBinary(blob: number, offset: number, binary: string): void {
    this.#buffer(blob).write(binary, this.#start(blob) + offset, binary.length, 'latin1')
  }

  /** Writes the first `length` bytes of another blob. */
  copy(blob: number, from: number, length: number): void {
    const start = this.#start(from)
    this.#buffer(from).copy(this.#buffer(blob), this.#start(blob), start, start + length)
  }

  /** A view that is valid until the blob is removed. */
  view(blob: number, offset = 0, length = this.length(blob) - offset): Buffer {
    if (length === 0) return empty
    const start = this.#start(blob) + offset
    return this.#buffer(blob).subarray(start, start + length)
  }

  text(blob: number, offset = 0, length = this.length(blob) - offset): string {
    if (length === 0) return ''
    const start = this.#start(blob) + offset
    return this.#buffer(blob).toString('utf8', start, start + length)
  }

  /** Whether the first `length` bytes are this text. */
  beginsWithText(blob: number, length: number, text: string): boolean {
    if (length === 0) return text === ''
    const buffer = this.#buffer(blob)
    const start = this.#start(blob)
    for (let index = 0; index < length; index++) {
      const unit = text.charCodeAt(index)
      if (unit > 127 || Number.isNaN(unit)) return this.text(blob, 0, length) === text
      if (buffer[start + index] !== unit) return false
    }
    return text.length === length
  }

  #buffer(blob: number): Buffer {
    return blob >= firstLarge ? this.#large[blob - firstLarge]! : this.#page(blob).buffer
  }

  #start(blob: number): number {
    return blob >= firstLarge ? 0 : this.#page(blob).contentStart(cellOf(blob))
  }

  #page(blob: number): Page {
    return this.#pages[Math.floor((blob - 1) / cellsPerPage)]!
  }

  #addSmall(length: number): number {
    const size = this.#sizes[sizeIndex(length)]!
    const page = size.pageWithRoom() ?? this.#addPage(size)
    return page.number * cellsPerPage + page.take(length) + 1
  }

  #addPage(size: Size): Page {
    const number = this.#droppedPages.at(-1) ?? this.#pages.length
    if (number >= this.#pagesMax) throw full('pages', this.#pagesMax)
    const page = new Page(number, size)
    this.#droppedPages.pop()
    this.#pages[number] = page
    size.current = page
    return page
  }

  #addLarge(length: number): number {
    const index = this.#removedLarge.at(-1) ?? this.#large.length
    if (index >= largeMax) throw full('large blobs', largeMax)
    const buffer = Buffer.allocUnsafeSlow(length)
    this.#removedLarge.pop()
    this.#large[index] = buffer
    return firstLarge + index
  }
}

function full(what: string, max: number): StateMachineError {
  return new StateMachineError(
    'STATE_FULL',
    `too many payloads and results are stored: at most ${max} ${what} are possible; lower knobs.tasksBytesMax or knobs.retentionMs`,
  )
}

const empty = Buffer.alloc(0)
const pageBytes = 64 * 1024
const headerBytes = 4
const cellBytesMin = 16
const quickTextBytes = 64
const cellBytesMax = 16 * 1024
const cellsPerPage = pageBytes / cellBytesMin
/** Numbers from here on are large blobs. All blob numbers fit in 32 bits. */
const firstLarge = 2 ** 31
const largeMax = 2 ** 32 - firstLarge

/** The last cell of the last page has the number just below the first large blob. */
export const blobLimits = {
  firstLarge,
  cellsPerPage,
  pagesMax: firstLarge / cellsPerPage - 1,
} as const

const smallBytesMax = cellBytesMax - headerBytes

/** 16, 20, 24, 28, 32, 40, 48, 56, 64, 80 ...: four sizes per doubling. */
const cellSizes: readonly number[] = (() => {
  const sizes = [cellBytesMin]
  for (let size = cellBytesMin; size < cellBytesMax; size *= 2) {
    for (const quarter of [1, 2, 3, 4]) sizes.push(size + (size / 4) * quarter)
  }
  return sizes
})()

/** The index in `cellSizes` of the smallest cell that fits `length` bytes and their header. */
function sizeIndex(length: number): number {
  const last = length + headerBytes - 1
  if (last < cellBytesMin) return 0
  const doubling = 31 - Math.clz32(last)
  return (doubling - 4) * 4 + ((last - (1 << doubling)) >>> (doubling - 2)) + 1
}

function cellOf(blob: number): number {
  return (blob - 1) % cellsPerPage
}

/** The pages of one cell size that have free cells. */
class Size {
  readonly cellBytes: number
  /**
   * The page for new blobs until it is full. It stays when it becomes empty, so that a single blob
   * that comes and goes creates no pages.
   */
  current: Page | undefined
  readonly #others = new Set<Page>()

  constructor(cellBytes: number) {
    this.cellBytes = cellBytes
  }

  pageWithRoom(): Page | undefined {
    if (this.current !== undefined && !this.current.isFull) return this.current
    const [other] = this.#others
    if (other === undefined) return undefined
    this.#others.delete(other)
    this.current = other
    return other
  }

  /** Called after a cell of the page became free. */
  noteRoom(page: Page): 'keep' | 'drop' {
    if (page === this.current) return 'keep'
    if (!page.isEmpty) {
      this.#others.add(page)
      return 'keep'
    }
    this.#others.delete(page)
    return 'drop'
  }
}

class Page {
  readonly number: number
  readonly size: Size
  readonly buffer: Buffer
  readonly #u32: Uint32Array
  readonly #cells: number
  readonly #cellWords: number
  #used = 0
  /** Cells from here on were never used. */
  #unused = 0
  /** The cell that was freed last, plus 1. Its length field links to the one freed before it. */
  #givenBack = 0

  constructor(number: number, size: Size) {
    this.number = number
    this.size = size
    this.buffer = Buffer.from(takePageMemory(pageBytes))
    this.#u32 = new Uint32Array(this.buffer.buffer)
    this.#cells = Math.floor(pageBytes / size.cellBytes)
    this.#cellWords = size.cellBytes / 4
  }

  get isFull(): boolean {
    return this.#used === this.#cells
  }

  get isEmpty(): boolean {
    return this.#used === 0
  }

  hasCell(cell: number): boolean {
    return cell < this.#unused
  }

  take(length: number): number {
    let cell = this.#givenBack - 1
    if (cell < 0) cell = this.#unused++
    else this.#givenBack = this.#u32[cell * this.#cellWords]!
    this.#u32[cell * this.#cellWords] = length
    this.#used++
    return cell
  }

  giveBack(cell: number): void {
    this.#u32[cell * this.#cellWords] = this.#givenBack
    this.#givenBack = cell + 1
    this.#used--
  }

  length(cell: number): number {
    return this.#u32[cell * this.#cellWords]!
  }

  contentStart(cell: number): number {
    return cell * this.#cellWords * 4 + headerBytes
  }
}
