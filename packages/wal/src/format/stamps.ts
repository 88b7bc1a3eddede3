import { crc32 } from 'node:zlib'
import { alignUp, isZero } from './bytes.js'
import { batchHeaderBytes, sectorBytes, stampBytes } from './limits.js'

/**
 * A segment's file can have been another segment before, whose content remains until it is
 * overwritten. So the last eight bytes of each sector tell in which life of the file the sector was
 * written. A sector that a torn write never reached has another stamp, or none.
 *
 *     offset  bytes  in each sector after the file's first
 *          0    504  content
 *        504      4  life: the CRC32 of the file header under which the sector was written
 *        508      4  check: a hash of log id, life and the sector's place in the file
 *
 * The bytes of a batch that a stamp displaces are kept in slots after the batch's records, so that
 * the records are contiguous again after `restore`. Slots lie between the stamps. Zeros fill the
 * rest of the last sector; the next batch overwrites them and repeats the stamp.
 */
export class Stamps {
  readonly life: number
  readonly #seed: number

  constructor(logId: Uint8Array, life: number) {
    this.life = life
    this.#seed = crc32(logId)
  }

  /**
   * Completes a batch for the file's `offset`: moves what the stamps displace to the slots, clears
   * the rest of the last sector, and writes the stamps. `bytes` starts with the header and has room
   * for `writtenBytes`.
   */
  apply(bytes: Uint8Array, offset: number, { bodyBytes, writtenBytes }: BatchExtent): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, writtenBytes)
    const bodyEnd = batchHeaderBytes + bodyBytes
    bytes.fill(0, bodyEnd, writtenBytes)
    let slot = alignUp(bodyEnd, stampBytes)
    let at = firstStampAfter(offset)
    for (; at < bodyEnd; at += sectorBytes) {
      if (isStamp(offset + slot)) slot += stampBytes
      view.setUint32(slot, view.getUint32(at, true), true)
      view.setUint32(slot + 4, view.getUint32(at + 4, true), true)
      slot += stampBytes
      this.#write(view, at, offset + at)
    }
    for (; at < writtenBytes; at += sectorBytes) this.#write(view, at, offset + at)
  }

  /** Moves the displaced bytes back into the batch's body. */
  restore(bytes: Uint8Array, offset: number, bodyBytes: number): void {
    const bodyEnd = batchHeaderBytes + bodyBytes
    let at = firstStampAfter(offset)
    if (at >= bodyEnd) return
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let slot = alignUp(bodyEnd, stampBytes)
    for (; at < bodyEnd; at += sectorBytes) {
      if (isStamp(offset + slot)) slot += stampBytes
      view.setUint32(at, view.getUint32(slot, true), true)
      view.setUint32(at + 4, view.getUint32(slot + 4, true), true)
      slot += stampBytes
    }
  }

  /**
   * Reads the stamp at the end of a sector. `sector` can lack its beginning, but not the stamp.
   * - `written`: the sector was written in this life of the file.
   * - `unwritten`: it was not. It contains zeros, or content of an earlier life.
   * - `damaged`: neither is true.
   */
  stateOf(sector: Uint8Array, fileOffset: number): SectorState {
    const at = sector.length - stampBytes
    // A file that was cut ends inside a sector.
    if (at < 0) return isZero(sector) ? 'unwritten' : 'damaged'
    const view = new DataView(sector.buffer, sector.byteOffset + at, stampBytes)
    const life = view.getUint32(0, true)
    const check = view.getUint32(4, true)
    if (check === this.#checkOf(life, fileOffset + at)) {
      return life === this.life ? 'written' : 'unwritten'
    }
    return life === 0 && check === 0 && isZero(sector) ? 'unwritten' : 'damaged'
  }

  /** The life under which the sector was written, or `undefined` if its stamp is not valid. */
  lifeOf(sector: Uint8Array, fileOffset: number): number | undefined {
    const at = sector.length - stampBytes
    if (at < 0) return undefined
    const view = new DataView(sector.buffer, sector.byteOffset + at, stampBytes)
    const life = view.getUint32(0, true)
    return view.getUint32(4, true) === this.#checkOf(life, fileOffset + at) ? life : undefined
  }

  #write(view: DataView, at: number, fileOffset: number): void {
    view.setUint32(at, this.life, true)
    view.setUint32(at + 4, this.#checkOf(this.life, fileOffset), true)
  }

  #checkOf(life: number, fileOffset: number): number {
    const place = Math.imul(fileOffset / stampBytes, 0x9e3779b1)
    const mixed = Math.imul(this.#seed ^ life ^ place, 0x85ebca6b)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
}

export type SectorState = 'written' | 'unwritten' | 'damaged'

/** How far a batch reaches, counted from its header. */
export interface BatchExtent {
  /** The records. */
  readonly bodyBytes: number
  /** Header, records and slots. */
  readonly contentBytes: number
  /** The content, and zeros to the end of its last sector. */
  readonly writtenBytes: number
}

/** The extent of a batch at `offset`, which is a multiple of 8. */
export function extentOf(offset: number, bodyBytes: number): BatchExtent {
  const bodyEnd = alignUp(offset + batchHeaderBytes + bodyBytes, stampBytes)
  const slots =
    Math.floor(bodyEnd / sectorBytes) - Math.floor((offset + batchHeaderBytes) / sectorBytes)
  const end = bodyEnd + slotBytes(slots, bodyEnd)
  return {
    bodyBytes,
    contentBytes: end - offset,
    writtenBytes: alignUp(end, sectorBytes) - offset,
  }
}

/** The most that a batch takes in a segment, wherever it begins, with the gap before it. */
export function largestExtent(bodyBytes: number): number {
  const perStamp = sectorBytes - stampBytes
  const stamps = Math.ceil((batchHeaderBytes + bodyBytes) / perStamp) + 1
  const slots = stamps * stampBytes + Math.ceil(stamps / slotsPerSector) * stampBytes
  return headerRoomBytes + batchHeaderBytes + bodyBytes + stampBytes + slots
}

/** A header and a stamp need this much of a sector. */
export const headerRoomBytes = batchHeaderBytes + stampBytes

const slotsPerSector = sectorBytes / stampBytes - 1

/** Bytes that the slots take from `start` on, with the stamps between them. */
function slotBytes(slots: number, start: number): number {
  const left = (sectorBytes - stampBytes - (start % sectorBytes)) / stampBytes
  const stamps = slots <= left ? 0 : 1 + Math.floor((slots - left - 1) / slotsPerSector)
  return (slots + stamps) * stampBytes
}

/** The place of the first stamp after the header of a batch at `offset`, counted from the header. */
function firstStampAfter(offset: number): number {
  return sectorBytes - stampBytes - (offset % sectorBytes)
}

function isStamp(fileOffset: number): boolean {
  return fileOffset % sectorBytes === sectorBytes - stampBytes
}
