import { spawnSync } from 'node:child_process'
import { rmSync, statfsSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A file system of its own, in memory and so small that it can be filled. */
export class SmallDisk {
  readonly path: string
  readonly #ballast: string

  private constructor(path: string) {
    this.path = path
    this.#ballast = join(path, 'ballast')
  }

  /** On an empty directory; `undefined` where this user may mount nothing. */
  static mount(path: string, megabytes: number): SmallDisk | undefined {
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
    return mounted.status === 0 ? new SmallDisk(path) : undefined
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path)
    return bavail * bsize
  }

  /** Somebody else takes what is free, but for so much. */
  async fill(leftBytes = 0): Promise<void> {
    try {
      for (;;) {
        const bytes = Math.min(this.freeBytes - leftBytes, pieceBytes)
        if (bytes <= 0) return
        await appendFile(this.#ballast, zeros.subarray(0, bytes))
      }
    } catch (error) {
      // Whoever else writes there was quicker.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }

  /** And gives it back. */
  empty(): void {
    rmSync(this.#ballast, { force: true })
  }

  /** From now on it is mounted for reading only. */
  protect(): void {
    spawnSync('mount', ['-o', 'remount,ro', this.path])
  }

  /** With all that is on it. */
  unmount(): void {
    spawnSync('umount', ['--lazy', this.path])
  }
}

const pieceBytes = 4 * 2 ** 20
const zeros = new Uint8Array(pieceBytes)
