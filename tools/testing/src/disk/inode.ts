/**
 * A file without its name: its content in the cache and on the medium, and the pending writes between them.
 */
import { Content, sectorBytes } from './content.js'

/** A write that the cache contains and the medium may or may not contain. */
export interface PendingWrite {
  /** Its position among all changes of the volume. */
  readonly order: number
  /** Index of its call. */
  readonly call: number
  readonly path: string
  readonly firstSector: number
  /** The whole sectors that it touched, as they were right after it. */
  readonly bytes: Uint8Array
  /** The file size that the write needs, if the file on the medium is shorter. */
  readonly size: number | undefined
  /** Sectors of which the medium already has a newer version. */
  superseded: Set<number> | undefined
}

/** Whether a sector of a write that failed to sync reached the medium nevertheless. */
export type SectorLanded = (write: PendingWrite, sector: number) => boolean

export class Inode {
  cache = new Content()
  medium = new Content()
  pending: PendingWrite[] = []
  /** Number of open handles. The space is freed only after the last one is closed. */
  handles = 0
  lockedBy: object | undefined
  /** Open files whose readers ask that the file is not used for anything else. */
  readonly pins = new Set<object>()
  /** A failed sync reported success; the next sync reports the error. */
  owesError = false

  /** This file on a copy of the disk, neither open nor locked. */
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

  /** The chosen writes stay in the cache but count as written: no later sync brings them to the medium. */
  forget(chosen: (write: PendingWrite) => boolean, landed: SectorLanded): void {
    for (const write of this.#take(chosen)) {
      for (const sector of sectorsOf(write)) {
        if (landed(write, sector)) this.landSector(write, sector)
      }
    }
  }

  /** Also removes the chosen writes from the cache: reads see the medium again. */
  revert(chosen: (write: PendingWrite) => boolean, landed: SectorLanded): void {
    this.forget(chosen, landed)
    this.#reread(this.medium.size)
  }

  /** Drops clean pages, as under memory pressure. Reads see the medium again. */
  dropCleanPages(): void {
    this.#reread(this.cache.size)
  }

  /** Replaces the content in the cache and on the medium. */
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

  /** Prevents a write that is still pending from later overwriting a newer one. */
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
