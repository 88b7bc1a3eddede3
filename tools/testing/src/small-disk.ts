import { spawnSync } from 'node:child_process'
import { rmSync, statfsSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A separate file system in memory, small enough to be filled. */
export class SmallDisk {
  readonly path: string
  readonly #ballast: string

  private constructor(path: string) {
    this.path = path
    this.#ballast = join(path, 'ballast')
  }

  /** Mounts it on an empty directory. Returns `undefined` if this user may not mount. */
  static mount(path: string, megabytes: number): SmallDisk | undefined {
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
    return mounted.status === 0 ? new SmallDisk(path) : undefined
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path)
    return bavail * bsize
  }

  /** Fills the disk up, except for `leftBytes`. */
  async fill(leftBytes = 0): Promise<void> {
    try {
      for (;;) {
        const bytes = Math.min(this.freeBytes - leftBytes, pieceBytes)
        if (bytes <= 0) return
        await appendFile(this.#ballast, zeros.subarray(0, bytes))
      }
    } catch (error) {
      // Another writer may have been faster.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }

  /** Frees the space that `fill` has taken. */
  empty(): void {
    rmSync(this.#ballast, { force: true })
  }

  /** Remounts the file system read-only. */
  protect(): void {
    spawnSync('mount', ['-o', 'remount,ro', this.path])
  }

  /** Unmounts the file system and discards its files. */
  unmount(): void {
    spawnSync('umount', ['--lazy', this.path])
  }
}

const pieceBytes = 4 * 2 ** 20
const zeros = new Uint8Array(pieceBytes)
