/**
 * A file without its name: what reads see of it, what the medium holds of it, and the writes that
 * are on their way from the one to the other.
 */
import { Content, sectorBytes } from './content.js'

/** A write that the cache has and the medium may or may not have. */
export interface PendingWrite {
  /** Its place among all changes of the volume. */
  readonly order: number
  /** The index of the call that made it. */
  readonly call: number
  readonly path: string
  readonly firstSector: number
  /** The sectors it touched, whole, as they were right after it. */
  readonly bytes: Uint8Array
  /** How far the file must reach for the write to be seen, when the medium's does not. */
  readonly size: number | undefined
  /** Sectors on which the medium has something newer already. */
  superseded: Set<number> | undefined
}

/** Whether a sector of a write that failed to sync reached the medium all the same. */
export type SectorLanded = (write: PendingWrite, sector: number) => boolean

export class Inode {
  cache = new Content()
  medium = new Content()
  pending: PendingWrite[] = []
  /** How many open files refer to it: its space is not free before they are closed. */
  handles = 0
  lockedBy: object | undefined
  /** A sync was answered with success although it failed; the next one tells. */
  owesError = false

  /** The same file on a copy of the disk: not open, not locked. */
  clone(): Inode {
    const clone = new Inode()
    clone.cache = this.cache.fork()
    clone.medium = this.medium.fork()
    clone.owesError = this.owesError
    clone.pending = this.pending.map((write) => ({
      ...write,
      superseded: write.superseded && new Set(write.superseded),
    }))
    return clone
  }

  write(
    bytes: Uint8Array,
    position: number,
    origin: { order: number; call: number; path: string },
  ): PendingWrite {
    this.cache.write(bytes, position)
    const end = position + bytes.length
    const firstSector = Math.floor(position / sectorBytes)
    const write: PendingWrite = {
      ...origin,
      firstSector,
      bytes: this.cache.sectors(firstSector, Math.ceil(end / sectorBytes)),
      size: end > this.medium.size ? end : undefined,
      superseded: undefined,
    }
    this.pending.push(write)
    return write
  }

  /** Brings the chosen writes to the medium. */
  land(chosen: (write: PendingWrite) => boolean): void {
    for (const write of this.#take(chosen)) {
      if (write.superseded === undefined) this.medium.putSectors(write.firstSector, write.bytes)
      else for (const sector of sectorsOf(write)) this.landSector(write, sector)
      if (write.size !== undefined) this.landSize(write.size)
      this.#supersede(write)
    }
  }

  landSector(write: PendingWrite, sector: number): void {
    const offset = (sector - write.firstSector) * sectorBytes
    this.medium.putSectors(sector, write.bytes.subarray(offset, offset + sectorBytes))
  }

  landSize(size: number): void {
    this.medium.size = Math.max(this.medium.size, size)
  }

  /** The chosen writes stay in the cache, which takes them for written: no sync will bring them. */
  forget(chosen: (write: PendingWrite) => boolean, landed: SectorLanded): void {
    for (const write of this.#take(chosen)) {
      for (const sector of sectorsOf(write)) {
        if (landed(write, sector)) this.landSector(write, sector)
      }
    }
  }

  /** The chosen writes are gone from the cache too: reads see the medium again. */
  revert(chosen: (write: PendingWrite) => boolean, landed: SectorLanded): void {
    this.forget(chosen, landed)
    this.#reread(this.medium.size)
  }

  /** Memory ran short: clean pages are dropped and read again from the medium. */
  dropCleanPages(): void {
    this.#reread(this.cache.size)
  }

  /** Makes the bytes the file's content in both places at once. */
  replace(bytes: Uint8Array): void {
    this.pending = []
    this.medium = Content.from(bytes)
    this.cache = this.medium.fork()
  }

  #reread(size: number): void {
    this.cache = this.medium.fork()
    this.cache.resize(size)
    for (const write of this.pending) {
      for (const sector of sectorsOf(write)) {
        const offset = (sector - write.firstSector) * sectorBytes
        this.cache.putSectors(sector, write.bytes.subarray(offset, offset + sectorBytes))
      }
      this.cache.size = Math.max(this.cache.size, write.size ?? 0)
    }
  }

  #take(chosen: (write: PendingWrite) => boolean): PendingWrite[] {
    const taken: PendingWrite[] = []
    const rest: PendingWrite[] = []
    for (const write of this.pending) (chosen(write) ? taken : rest).push(write)
    this.pending = rest
    return taken
  }

  /** A write that is still pending must not one day cover what came after it. */
  #supersede(landed: PendingWrite): void {
    for (const write of this.pending) {
      if (write.order > landed.order) continue
      for (const sector of sectorsOf(landed)) {
        if (!covers(write, sector)) continue
        write.superseded ??= new Set()
        write.superseded.add(sector)
      }
    }
  }
}

/** The sectors that the write may still bring to the medium. */
export function sectorsOf(write: PendingWrite): number[] {
  const sectors: number[] = []
  const end = write.firstSector + write.bytes.length / sectorBytes
  for (let sector = write.firstSector; sector < end; sector++) {
    if (write.superseded?.has(sector) !== true) sectors.push(sector)
  }
  return sectors
}

function covers(write: PendingWrite, sector: number): boolean {
  return (
    sector >= write.firstSector && sector < write.firstSector + write.bytes.length / sectorBytes
  )
}
