import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { UsageError } from './options.js'

/** By the magic number of statfs(2). */
const fileSystems: Readonly<Record<number, string>> = {
  0xef53: 'ext4',
  0x58465342: 'xfs',
  0x9123683e: 'btrfs',
  0x2fc12fc1: 'zfs',
  0xf2f52010: 'f2fs',
  0x794c7630: 'overlayfs',
  0x6969: 'nfs',
  0xff534d42: 'cifs',
  0x01021994: 'tmpfs',
  0x858458f6: 'ramfs',
}

const inMemory = new Set(['tmpfs', 'ramfs'])

/** A place to write to, removed however the run ends. */
export class WorkDirectory {
  readonly path: string
  readonly fileSystem: string

  constructor(given: string | undefined) {
    if (given !== undefined && !existsSync(given)) {
      throw new UsageError(`--dir is "${given}"; there is no such directory`)
    }
    const path =
      given === undefined
        ? resolve(`.bench-wal-${process.pid}`)
        : mkdtempSync(join(given, 'bench-wal-'))
    mkdirSync(path, { recursive: true })
    this.path = path
    // Some platforms hand the number out signed.
    const type = Number(statfsSync(path).type) >>> 0
    this.fileSystem = fileSystems[type] ?? `file system 0x${type.toString(16)}`
    process.once('exit', () => this.remove())
    if (inMemory.has(this.fileSystem)) {
      throw new UsageError(
        `${path} is on ${this.fileSystem}, which is memory: nothing there is durable. Name a directory on a disk with --dir.`,
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
