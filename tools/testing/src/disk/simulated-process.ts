/** The disk as seen by one process of the machine, with its own open files and locks. */
import { posix } from 'node:path'
import type { DiskCall } from './call.js'
import { Caller } from './caller.js'
import { systemError } from './errors.js'
import type { Fault } from './fault.js'
import type { Inode } from './inode.js'
import type { Machine } from './machine.js'
import type { Disk, DiskFile, LockAttempt, OpenMode } from './seam.js'
import { SimulatedFile } from './simulated-file.js'

export class SimulatedProcess implements Disk {
  readonly #caller: Caller
  readonly #machine: Machine

  constructor(machine: Machine) {
    this.#machine = machine
    this.#caller = new Caller(machine)
  }

  /** The id of this process in `DiskCall.process`. */
  get id(): number {
    return this.#caller.id
  }

  get killed(): boolean {
    return this.#caller.killed
  }

  /**
   * Kills the process as SIGKILL does: its locks are free, its files closed, and its calls never resolve. Its
   * writes stay in the cache, and a call in progress is completed.
   */
  kill(): void {
    this.#caller.kill()
  }

  /** Resolves when the process is killed. */
  whenKilled(): Promise<void> {
    return this.#caller.whenKilled
  }

  createDirectory(path: string): Promise<void> {
    const { volume } = this.#machine
    const details = { kind: 'createDirectory', path: normalize(path) } as const
    return this.#caller.perform(details, (call) => {
      volume.createDirectory(details.path, call.index)
      return () => volume.landCreation(details.path)
    })
  }

  list(path: string): Promise<string[]> {
    const details = { kind: 'list', path: normalize(path) } as const
    return this.#caller.perform(details, () => {
      const names = this.#machine.volume.list(details.path)
      return () => names
    })
  }

  freeBytes(path: string): Promise<number> {
    const details = { kind: 'freeBytes', path: normalize(path) } as const
    return this.#caller.perform(details, () => {
      const { volume } = this.#machine
      const free = Math.max(0, volume.capacityBytes - volume.usedBytes())
      return () => free
    })
  }

  syncDirectory(path: string): Promise<void> {
    const details = { kind: 'syncDirectory', path: normalize(path) } as const
    return this.#caller.perform(details, (call, fault) => {
      const { volume } = this.#machine
      volume.assertSyncable(details.path)
      const mark = volume.mark()
      return () => this.#landDirectory(call, fault, mark)
    })
  }

  open(path: string, mode: OpenMode): Promise<DiskFile> {
    const details = { kind: 'open', path: normalize(path), mode } as const
    return this.#caller.perform(details, (call) => {
      const { volume } = this.#machine
      const inode =
        mode === 'create' ? volume.create(details.path, call.index) : volume.find(details.path)
      const file = new SimulatedFile(this.#caller, inode, details.path, mode)
      return () => file
    })
  }

  rename(from: string, to: string): Promise<void> {
    const details = { kind: 'rename', path: normalize(from), to: normalize(to) } as const
    return this.#caller.perform(details, (call) => {
      this.#machine.volume.rename(details.path, details.to, call.index)
      return () => {}
    })
  }

  remove(path: string): Promise<void> {
    const details = { kind: 'remove', path: normalize(path) } as const
    return this.#caller.perform(details, (call) => {
      this.#machine.volume.remove(details.path, call.index)
      return () => {}
    })
  }

  isPinned(path: string): Promise<boolean> {
    const details = { kind: 'isPinned', path: normalize(path) } as const
    return this.#caller.perform(details, () => {
      const isPinned = this.#machine.volume.find(details.path).pins.size > 0
      return () => isPinned
    })
  }

  removeDirectory(path: string): Promise<void> {
    const details = { kind: 'removeDirectory', path: normalize(path) } as const
    return this.#caller.perform(details, (call) => {
      this.#machine.volume.removeDirectory(details.path, call.index)
      return () => {}
    })
  }

  lock(path: string, holder: string): Promise<LockAttempt> {
    const details = { kind: 'lock', path: normalize(path) } as const
    return this.#caller.perform<LockAttempt>(details, (call) => {
      const { volume, options } = this.#machine
      const inode = volume.has(details.path)
        ? volume.find(details.path)
        : volume.create(details.path, call.index)
      if (inode.lockedBy !== undefined) {
        const holding = new TextDecoder().decode(inode.cache.toBytes())
        return () => ({ granted: false, holder: holding })
      }
      volume.replaceAtOnce(inode, new TextEncoder().encode(holder))
      if (options.locks !== false) this.#caller.lock(inode)
      return () => ({ granted: true, release: () => this.#release(details.path, inode) })
    })
  }

  #release(path: string, inode: Inode): Promise<void> {
    return this.#caller.perform({ kind: 'release', path }, () => {
      this.#caller.unlock(inode)
      return () => {}
    })
  }

  #landDirectory(call: DiskCall, fault: Fault | undefined, mark: number): void {
    const { volume, dead } = this.#machine
    const failed = fault?.kind === 'failed-sync' ? fault : undefined
    if (volume.takeOwedError(call.path)) {
      volume.forgetDirectory(call.path, mark)
      throw systemError('EIO', call)
    }
    switch (failed?.model) {
      case undefined:
        if (dead) throw systemError('EIO', call)
        volume.landDirectory(call.path, mark)
        return
      case 'late':
        volume.forgetDirectory(call.path, mark)
        volume.oweError(call.path)
        return
      case 'clean-page':
        volume.forgetDirectory(call.path, mark)
        throw systemError('EIO', call)
      case 'reverted':
        volume.revertDirectory(call.path, mark)
        throw systemError('EIO', call)
      case 'dead':
        throw this.#machine.die(call)
    }
  }
}

/** Matches paths that are not in normal form. */
const unusual = /^$|^\.|\/\.|\/\/|\/$/

/** Normalizes the path: names are compared as strings. */
function normalize(path: string): string {
  if (!unusual.test(path)) return path
  const normal = posix.normalize(path)
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal
}
