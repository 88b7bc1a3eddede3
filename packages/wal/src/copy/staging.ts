import { dirname, resolve, sep } from 'node:path'
import type { Disk, LockAttempt } from '../disk/disk.js'
import { listIfPresent, removeIfPresent } from '../disk/files.js'
import { systemCode, WalError } from '../errors.js'
import { isRootName, Layout, temporarySuffix } from '../format/layout.js'

/**
 * Suffix of the destination's name during a copy. The next copy to the same destination removes
 * what a crash left.
 */
const stagingSuffix = '.copying'

type Lock = Extract<LockAttempt, { granted: true }>

/**
 * A directory next to the destination that receives the copy. When the copy is complete and
 * durable, it is renamed to the destination in one step. It has its own lock, so that two copies to
 * the same destination cannot mix.
 */
export class Staging {
  readonly layout: Layout
  readonly #disk: Disk
  readonly #destination: string
  readonly #lock: Lock

  private constructor(disk: Disk, destination: string, layout: Layout, lock: Lock) {
    this.#disk = disk
    this.#destination = destination
    this.layout = layout
    this.#lock = lock
  }

  /** Fails with `WAL_BAD_DESTINATION` if the destination is in use or lies in the source. */
  static async open(disk: Disk, destination: string, source?: Layout): Promise<Staging> {
    const layout = new Layout(resolve(destination) + stagingSuffix)
    if (source !== undefined) {
      for (const place of [destination, layout.root]) refuseWithin(source.root, place)
    }
    const there = await listPlace(disk, destination)
    if (there.length > 0) throw occupied(destination, there)
    const foreign = (await listPlace(disk, layout.root)).filter((name) => !isRootName(name))
    if (foreign.length > 0) throw occupied(layout.root, foreign)
    await disk.createDirectory(layout.root)
    const lock = await disk.lock(layout.lock, `process ${process.pid}`)
    if (!lock.granted) {
      throw new WalError(
        'WAL_LOCKED',
        `${destination} is being written by ${lock.holder || 'another process'}`,
        { remedy: 'Wait for it to finish, or choose another directory' },
      )
    }
    const staging = new Staging(disk, destination, layout, lock)
    try {
      await staging.#clear()
      for (const path of [layout.segments, layout.checkpoints]) await disk.createDirectory(path)
    } catch (error) {
      await staging.discard()
      throw error
    }
    return staging
  }

  /** Renames the copy to the destination. Resolves when all names are durable. */
  async publish(): Promise<void> {
    const disk = this.#disk
    const { root } = this.layout
    for (const path of this.#directories()) await disk.syncDirectory(path)
    await disk.syncDirectory(root)
    await removeEmptyDirectory(disk, this.#destination)
    await disk.rename(root, this.#destination)
    try {
      await disk.syncDirectory(dirname(root))
    } catch (error) {
      // The name may not survive a power loss, so undo the rename.
      await disk.rename(this.#destination, root).catch(() => {})
      throw error
    }
    await this.#lock.release().catch(() => {})
  }

  /**
   * Removes everything that can be removed. The error that led here matters more than a failure to
   * clean up.
   */
  async discard(): Promise<void> {
    const disk = this.#disk
    const { root, lock } = this.layout
    try {
      await this.#clear()
      await removeIfPresent(disk, lock)
      await disk.removeDirectory(root)
    } catch {
      // The next copy to this destination removes the rest.
    }
    await this.#lock.release().catch(() => {})
  }

  /** Removes everything except the lock, which is still held. */
  async #clear(): Promise<void> {
    const disk = this.#disk
    const { head } = this.layout
    for (const path of [head, head + temporarySuffix]) await removeIfPresent(disk, path)
    for (const path of this.#directories()) {
      for (const name of await listIfPresent(disk, path)) await disk.remove(`${path}/${name}`)
      await removeEmptyDirectory(disk, path)
    }
  }

  #directories(): string[] {
    return [this.layout.segments, this.layout.checkpoints]
  }
}

function refuseWithin(source: string, place: string): void {
  if (!`${resolve(place)}${sep}`.startsWith(`${resolve(source)}${sep}`)) return
  throw new WalError('WAL_BAD_DESTINATION', `${place} lies inside the source ${source}`, {
    remedy: 'Choose another directory',
  })
}

/** The names in the directory, or an empty list if it does not exist. */
async function listPlace(disk: Disk, path: string): Promise<string[]> {
  try {
    return await listIfPresent(disk, path)
  } catch (error) {
    if (systemCode(error) !== 'ENOTDIR') throw error
    throw new WalError('WAL_BAD_DESTINATION', `${path} is not a directory`, {
      remedy: 'Choose another destination',
    })
  }
}

function occupied(path: string, names: readonly string[]): WalError {
  return new WalError(
    'WAL_BAD_DESTINATION',
    `${path} is not empty: it contains "${[...names].sort()[0]}"`,
    { remedy: 'Choose a directory that does not exist yet' },
  )
}

async function removeEmptyDirectory(disk: Disk, path: string): Promise<void> {
  try {
    await disk.removeDirectory(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
}
