import type { Clock } from '@tenure/seams'
import { isBadCheckpoint, verifyCheckpoint } from '../checkpoint/checkpoint.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { listIfPresent, removeIfPresent } from '../disk/files.js'
import { noLog, systemCode, WalDamageError, WalError } from '../errors.js'
import type { SegmentEnd } from '../format/file-header.js'
import { HeadFile } from '../format/head.js'
import { checkpointName, type Layout } from '../format/layout.js'
import type { Lsn } from '../lsn.js'
import type { Examination, Segment } from '../recover/examination.js'
import { surveyUntilStable } from '../recover/survey.js'
import { refuseReused, SegmentReused } from '../scan/reuse.js'
import { Scanner } from '../scan/scanner.js'
import { type CopyRange, copyFile } from './copy-file.js'
import { findSoundEnd } from './sound-end.js'

/** How many times a copy restarts after a truncation removed a file that it needed. */
const attemptsMax = 20

export interface CopyProgress {
  readonly copiedBytes: number
  readonly totalBytes: number
}

export interface CopyWork {
  readonly disk: Disk
  readonly clock: Clock
  readonly onProgress: (progress: CopyProgress) => void
}

/** The content that a copy should have. */
export interface CopyContents extends Pick<Examination, 'segments' | 'badCheckpoints'> {
  readonly end: SegmentEnd
  /** Why a torn write after the end is not copied, if there is one. */
  readonly tornTail: string | undefined
  /** Size on the disk. Zeros are not written. */
  readonly bytes: number
}

/** A truncation removed a file before it was copied. */
class SourceTruncated extends Error {}

/**
 * Copies a log while a writer may append, roll and truncate. The names and headers at one moment
 * say what to copy: the sealed files, which never change, and the newest segment up to its last
 * whole batch. If one of these files disappears, the copier looks again and keeps the sealed files
 * that it has copied.
 */
export class LogCopier {
  readonly #work: CopyWork
  readonly #from: Layout
  readonly #to: Layout
  /** Completely copied sealed files: name to bytes written. */
  readonly #done = new Map<string, number>()

  constructor(from: Layout, to: Layout, work: CopyWork) {
    this.#work = work
    this.#from = from
    this.#to = to
  }

  async run(): Promise<CopyContents> {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      try {
        return await this.#attempt()
      } catch (error) {
        if (!(error instanceof SourceTruncated)) throw error
      }
    }
    throw new WalError(
      'WAL_OVERTAKEN',
      `the copy of ${this.#from.root} failed ${attemptsMax} times, because a truncation removed a file before it was copied`,
      { remedy: 'Truncate the log later, or copy to a faster disk' },
    )
  }

  async #attempt(): Promise<CopyContents> {
    const { segments, ...found } = await this.#look()
    const { checkpoints, badCheckpoints } = await this.#readCheckpoints(found)
    const sealed = segments.slice(0, -1)
    await this.#removeOthers([
      ...sealed.map(({ name }) => name),
      ...checkpoints.map(checkpointName),
    ])
    const onBytes = await this.#progressOf(segments, checkpoints)
    // Oldest first, because truncation removes the oldest first.
    for (const [index, segment] of sealed.entries()) {
      const { name } = segment
      const end = segments[index + 1]!.header.previous.offset
      await this.#withSegment(segment, (file) =>
        this.#copySealed(name, file, this.#to.segment(name), { end, onBytes }),
      )
    }
    for (const lsn of checkpoints) {
      await this.#withSource(this.#from.checkpoint(lsn), (file) =>
        this.#copySealed(checkpointName(lsn), file, this.#to.checkpoint(lsn), { onBytes }),
      )
    }
    const newest = await this.#copyNewest(segments.at(-1)!, onBytes)
    const bytes = [...this.#done.values()].reduce((sum, taken) => sum + taken, newest.bytes)
    const { end, tornTail } = newest
    return { segments, badCheckpoints, end, tornTail, bytes }
  }

  async #look(): Promise<Examination> {
    try {
      const { examination } = await surveyUntilStable(this.#work.disk, this.#from)
      // In the copy, nothing would show that records before its first segment are missing.
      for (const hole of examination.historyDamage) throw new WalDamageError(hole)
      if (examination.segments.length > 0) return examination
    } catch (error) {
      throw systemCode(error) === 'ENOENT' ? new SourceTruncated() : error
    }
    throw noLog(this.#from.root)
  }

  /**
   * The good checkpoints, oldest first. Each is read from end to end, because a bad one is not
   * worth copying.
   */
  async #readCheckpoints(found: Pick<Examination, 'goodCheckpoints' | 'badCheckpoints'>) {
    const checkpoints: Lsn[] = []
    const badCheckpoints = [...found.badCheckpoints]
    for (const lsn of found.goodCheckpoints) {
      try {
        await verifyCheckpoint(this.#work.disk, this.#from.checkpoint(lsn), lsn)
        checkpoints.unshift(lsn)
      } catch (error) {
        if (systemCode(error) === 'ENOENT') throw new SourceTruncated()
        if (!isBadCheckpoint(error)) throw error
        badCheckpoints.push({ lsn, why: error.message })
      }
    }
    return { checkpoints, badCheckpoints: badCheckpoints.sort((a, b) => b.lsn - a.lsn) }
  }

  /** Removes incomplete files, and those that are no longer part of the log. */
  async #removeOthers(wanted: readonly string[]): Promise<void> {
    const { disk } = this.#work
    for (const directory of [this.#to.segments, this.#to.checkpoints]) {
      for (const name of await listIfPresent(disk, directory)) {
        if (wanted.includes(name) && this.#done.has(name)) continue
        this.#done.delete(name)
        await disk.remove(`${directory}/${name}`)
      }
    }
    await removeIfPresent(disk, this.#to.head)
  }

  async #progressOf(segments: readonly Segment[], checkpoints: readonly Lsn[]) {
    let totalBytes = segments.reduce((sum, { header }) => sum + header.segmentBytes, 0)
    for (const lsn of checkpoints) {
      totalBytes += await this.#withSource(this.#from.checkpoint(lsn), (file) => file.size())
    }
    let copiedBytes = 0
    return (bytes: number) => {
      copiedBytes += bytes
      this.#work.onProgress({ copiedBytes, totalBytes })
    }
  }

  async #copySealed(name: string, file: DiskFile, to: string, range: CopyRange) {
    if (this.#done.has(name)) range.onBytes(await file.size())
    else this.#done.set(name, await copyFile(this.#work.disk, file, to, range))
  }

  /** Runs last, so that the copy includes records that were written during the copy. */
  async #copyNewest(segment: Segment, onBytes: (bytes: number) => void) {
    const { disk, clock } = this.#work
    const { name, header } = segment
    const found = await this.#withSegment(segment, async (file) => {
      const scanner = new Scanner(file, await file.size(), header)
      const { end, tornTail } = await findSoundEnd(scanner, name, clock)
      const to = this.#to.segment(name)
      const bytes = await copyFile(disk, file, to, { end: end.offset, onBytes })
      return { end, tornTail, bytes }
    })
    const head = await HeadFile.open(disk, this.#to)
    try {
      await head.write(header)
    } finally {
      await head.close()
    }
    return found
  }

  /**
   * Pins the segment's file, so that the writer does not use it again meanwhile. A pin can fail, or
   * come too late, so what was read counts only if the file still contains the segment then.
   */
  #withSegment<T>({ name, header }: Segment, use: (file: DiskFile) => Promise<T>): Promise<T> {
    return this.#withSource(this.#from.segment(name), async (file) => {
      await file.pin()
      try {
        return await use(file)
      } finally {
        await refuseReused(file, name, header)
      }
    })
  }

  async #withSource<T>(path: string, use: (file: DiskFile) => Promise<T>): Promise<T> {
    const file = await this.#work.disk.open(path, 'read').catch((error: unknown) => {
      throw systemCode(error) === 'ENOENT' ? new SourceTruncated() : error
    })
    try {
      return await use(file)
    } catch (error) {
      throw error instanceof SegmentReused ? new SourceTruncated() : error
    } finally {
      await file.close()
    }
  }
}
