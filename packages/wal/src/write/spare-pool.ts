import type { Disk } from '../disk/disk.js'
import { listIfPresent, sizeOfFile } from '../disk/files.js'
import { type Layout, numberOfSpareName } from '../format/layout.js'
import type { ReservedFile, SealedSegment } from './segment-file.js'

/**
 * Files that were segments, and that the log uses again instead of filling new ones with zeros. Their
 * content is old, but stamps tell it from new content.
 */
export class SparePool {
  readonly #disk: Disk
  readonly #layout: Layout
  readonly #epoch: number
  readonly #files: ReservedFile[]

  private constructor(disk: Disk, layout: Layout, epoch: number, files: ReservedFile[]) {
    this.#disk = disk
    this.#layout = layout
    this.#epoch = epoch
    this.#files = files
  }

  /**
   * Takes over what an earlier epoch left, under names of this epoch. Removes files that are too
   * small for a segment. Starts with the newest epoch, because a crash may have left files that have
   * names of this epoch already.
   */
  static async open(
    disk: Disk,
    layout: Layout,
    { epoch, bytesMin }: { readonly epoch: number; readonly bytesMin: number },
  ): Promise<SparePool> {
    const files: ReservedFile[] = []
    for (const name of (await listIfPresent(disk, layout.segments)).sort().reverse()) {
      const number = numberOfSpareName(name)
      if (number === undefined) continue
      const path = layout.segment(name)
      const own = layout.spare(epoch, number)
      const bytes = await sizeOfFile(disk, path)
      if (bytes < bytesMin || files.some((it) => it.path === own)) await disk.remove(path)
      else {
        if (path !== own) await disk.rename(path, own)
        files.unshift({ path: own, bytes })
      }
    }
    return new SparePool(disk, layout, epoch, files)
  }

  get count(): number {
    return this.#files.length
  }

  get bytes(): number {
    return this.#files.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** A file of at least this size, which is then no longer in the pool. */
  take(bytesMin: number): ReservedFile | undefined {
    const at = this.#files.findIndex(({ bytes }) => bytes >= bytesMin)
    return at < 0 ? undefined : this.#files.splice(at, 1)[0]
  }

  /**
   * Renames a segment that is no longer part of the log. The file must not be written before the
   * directory was synced; pass it to `add` then.
   */
  async rename({ name, header }: SealedSegment): Promise<ReservedFile> {
    const path = this.#unusedPath(header.sequence)
    await this.#disk.rename(this.#layout.segment(name), path)
    return { path, bytes: header.segmentBytes }
  }

  add(file: ReservedFile): void {
    this.#files.push(file)
  }

  /** Removes files from the disk until at most `count` are left. */
  async shrink(count: number): Promise<void> {
    while (this.#files.length > count) {
      const file = this.#files.pop()
      if (file !== undefined) await this.#disk.remove(file.path)
    }
  }

  /** A file of an earlier epoch can have the number of a segment of this one. */
  #unusedPath(number: number): string {
    const path = this.#layout.spare(this.#epoch, number)
    const isUsed = this.#files.some((it) => it.path === path)
    return isUsed ? this.#unusedPath(number + 1) : path
  }
}
