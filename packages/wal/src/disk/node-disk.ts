import * as fs from 'node:fs'
import * as fsp from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCode } from '../errors.js'
import type { Disk, DiskFile, LockAttempt, OpenMode } from './disk.js'
import { withFile } from './files.js'
import { SpareDescriptors } from './spare-descriptors.js'

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL } = fs.constants

/**
 * On Linux, each write through an O_DSYNC descriptor is durable when it returns: write and sync are
 * one system call, and an error belongs to this write. macOS has the flag but does not flush the
 * drive's cache, and Windows does not have it, so there a sync follows each write.
 */
const O_DSYNC = process.platform === 'linux' ? fs.constants.O_DSYNC : undefined

const flagsOf: Record<OpenMode, number> = {
  read: O_RDONLY,
  create: O_RDWR | O_CREAT | O_EXCL,
  write: O_RDWR,
  durable: O_RDWR | (O_DSYNC ?? 0),
}

/** Spare descriptors of this thread, shared by all logs that it has open for writing. */
const spares = new SpareDescriptors()

export const nodeDisk: Disk = {
  async createDirectory(path: string): Promise<void> {
    if (await isDirectory(path)) return
    const parent = dirname(path)
    // One by one, because Node's recursive mkdir reports ENOENT for every failure, or never
    // returns.
    if (parent !== path) await nodeDisk.createDirectory(parent)
    try {
      await fsp.mkdir(path, 0o700)
    } catch (error) {
      // Another process may have created it first.
      if (systemCode(error) !== 'EEXIST' || !(await isDirectory(path))) throw error
    }
    await nodeDisk.syncDirectory(parent)
  },

  list: (path: string) =>
    spares.open(
      () => fsp.readdir(path),
      () => fs.readdirSync(path),
    ),

  async syncDirectory(path: string): Promise<void> {
    // Windows cannot open a directory. Its file systems journal names on their own.
    if (process.platform === 'win32') return
    await withFile(nodeDisk, path, 'read', (directory) => directory.sync())
  },

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const fd = await openDescriptor(path, flagsOf[mode])
    return new NodeDiskFile(fd, mode === 'durable' && O_DSYNC === undefined)
  },

  rename: (from: string, to: string) => fsp.rename(from, to),

  remove: (path: string) => fsp.unlink(path),

  async freeBytes(path: string): Promise<number> {
    const { bavail, bsize, blocks } = await fsp.statfs(path)
    if (blocks > 0) return bavail * bsize
    // A file system that does not know its size reports 0 blocks.
    throw Object.assign(new Error(`ENOTSUP: the file system of ${path} does not tell its size`), {
      code: 'ENOTSUP',
    })
  },

  async isPinned(path: string): Promise<boolean> {
    const locks = await loadLocks()
    if (locks === undefined) return false
    const fd = await openDescriptor(path, O_RDWR)
    try {
      return !locks.tryLock(fd)
    } finally {
      await closeDescriptor(fd)
    }
  },

  removeDirectory: (path: string) => fsp.rmdir(path),

  async lock(path: string, holder: string): Promise<LockAttempt> {
    // Imported only here, so that a log can be read on platforms for which the addon has no binary.
    const { tryLock } = await import('fs-native-extensions')
    const handle = await fsp.open(path, O_RDWR | O_CREAT, 0o600)
    try {
      if (!tryLock(handle.fd)) {
        const text = (await fsp.readFile(path, 'utf8')).trim()
        await handle.close()
        return { granted: false, holder: text }
      }
      // Write before truncating: on a full disk, space that is freed may not be available again.
      const { bytesWritten } = await handle.write(`${holder}\n`, 0)
      await handle.truncate(bytesWritten)
    } catch (error) {
      await handle.close()
      throw error
    }
    // Closing the descriptor ends the lock. The file stays, so that a second file of that name can
    // never be locked as well.
    const directory = dirname(path)
    spares.hold(directory)
    return {
      granted: true,
      release: () => {
        spares.release(directory)
        return handle.close()
      },
    }
  },
}

/** The addon for locks, or `undefined` on platforms for which it has no binary. */
function loadLocks(): Promise<typeof import('fs-native-extensions') | undefined> {
  return import('fs-native-extensions').catch(() => undefined)
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await fsp.stat(path)).isDirectory()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}

function openDescriptor(path: string, flags: number): Promise<number> {
  return spares.open(
    () => openFile(path, flags),
    () => fs.openSync(path, flags, 0o600),
  )
}

function openFile(path: string, flags: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(path, flags, 0o600, (error, fd) => (error ? reject(error) : resolve(fd)))
  })
}

function closeDescriptor(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (spares.close(fd)) resolve()
    else fs.close(fd, (error) => (error ? reject(error) : resolve()))
  })
}

/** A descriptor with positioned reads and writes. */
class NodeDiskFile implements DiskFile {
  readonly #fd: number
  readonly #syncsEachWrite: boolean

  constructor(fd: number, syncsEachWrite: boolean) {
    this.#fd = fd
    this.#syncsEachWrite = syncsEachWrite
  }

  size(): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.fstat(this.#fd, (error, stats) => (error ? reject(error) : resolve(stats.size)))
    })
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(this.#fd, into, 0, into.length, position, (error, count) =>
        error ? reject(error) : resolve(count),
      )
    })
  }

  write(bytes: Uint8Array, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.write(this.#fd, bytes, 0, bytes.length, position, (error, count) => {
        if (error) reject(error)
        else if (!this.#syncsEachWrite) resolve(count)
        else fs.fsync(this.#fd, (failure) => (failure ? reject(failure) : resolve(count)))
      })
    })
  }

  writeOnLoop(bytes: Uint8Array, position: number): number {
    const count = fs.writeSync(this.#fd, bytes, 0, bytes.length, position)
    if (this.#syncsEachWrite) fs.fsyncSync(this.#fd)
    return count
  }

  async pin(): Promise<void> {
    try {
      const locks = await loadLocks()
      locks?.tryLock(this.#fd, { shared: true })
    } catch {
      // A file system without locks. The reader still notices when the file was used again.
    }
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fsync(this.#fd, (error) => (error ? reject(error) : resolve()))
    })
  }

  close(): Promise<void> {
    return closeDescriptor(this.#fd)
  }
}
