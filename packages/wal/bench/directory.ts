import { mkdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { describeError, UsageError } from '@tenure/harness'

/** Keyed by the magic number of statfs(2). */
const fileSystems: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  801189825: 'zfs',
  4076150800: 'f2fs',
  2035054128: 'overlayfs',
  26985: 'nfs',
  4283649346: 'cifs',
  16914836: 'tmpfs',
  2240043254: 'ramfs',
}

const inMemory = new Set(['tmpfs', 'ramfs'])

/** A directory for the run, which is always removed at its end. */
export class WorkDirectory {
  readonly path: string
  readonly fileSystem: string

  /** Creates the directory inside an existing one. */
  constructor(path: string) {
    try {
      mkdirSync(path)
    } catch (error) {
      throw new UsageError(`--dir: ${describeError(error)}`, { cause: error })
    }
    this.path = path
    // Some platforms return a signed number.
    const type = Number(statfsSync(path).type) >>> 0
    this.fileSystem = fileSystems[type] ?? `file system 0x${type.toString(16)}`
    process.once('exit', () => this.remove())
    if (inMemory.has(this.fileSystem)) {
      throw new UsageError(
        `${path} is on ${this.fileSystem}, which is memory: nothing there is durable. ` +
          'Use --dir to choose a directory on a disk.',
      )
    }
  }

  join(name: string): string {
    return join(this.path, name)
  }

  empty(name: string): void {
    rmSync(this.join(name), { recursive: true, force: true })
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
