/**
 * The file system without time, calls and faults: names and files in the cache and on the medium, and the
 * pending changes between them.
 *
 * Every change of a name or sector is pending until a sync lands it. `afterPowerLoss` decides about the
 * pending changes and returns the remaining volume.
 */
import { posix } from 'node:path'
import { type Content, sectorBytes } from './content.js'
import { Inode, type PendingWrite, sectorsOf } from './inode.js'
import {
  applyName,
  describeName,
  isWithin,
  moveDirectory,
  type NameChange,
  touches,
} from './name-change.js'
import type { PendingChange } from './power-loss.js'

/** An error with the code of a system error. */
export class Refused extends Error {
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

export class Volume {
  capacityBytes = Number.POSITIVE_INFINITY
  /** The names that all processes see. `#mediumNames` are those on the medium. */
  readonly #names = new Map<string, Inode>()
  readonly #mediumNames = new Map<string, Inode>()
  readonly #directories = new Set<string>(['/', '.'])
  readonly #mediumDirectories = new Set<string>(['/', '.'])
  /** Open files without a name. */
  readonly #orphans = new Set<Inode>()
  /** Directories whose last sync failed but reported success. */
  readonly #owingError = new Set<string>()
  #pendingNames: NameChange[] = []
  #order = 0

  clone(): Volume {
    const clone = new Volume()
    const copies = new Map<Inode, Inode>()
    const copy = (inode: Inode): Inode => {
      const known = copies.get(inode)
      if (known !== undefined) return known
      const made = inode.clone()
      copies.set(inode, made)
      return made
    }
    clone.capacityBytes = this.capacityBytes
    clone.#order = this.#order
    for (const [path, inode] of this.#names) clone.#names.set(path, copy(inode))
    for (const [path, inode] of this.#mediumNames) clone.#mediumNames.set(path, copy(inode))
    for (const path of this.#directories) clone.#directories.add(path)
    for (const path of this.#mediumDirectories) clone.#mediumDirectories.add(path)
    clone.#pendingNames = this.#pendingNames.map((change) => ({
      ...change,
      inode: change.inode && copy(change.inode),
    }))
    return clone
  }

  /** Marks this moment: a sync lands changes made before it, and none made later. */
  mark(): number {
    return this.#order
  }

  // Names

  createDirectory(path: string, call: number): void {
    const create = (directory: string): void => {
      if (this.#directories.has(directory)) return
      if (this.#names.has(directory)) throw new Refused(directory === path ? 'EEXIST' : 'ENOTDIR')
      create(posix.dirname(directory))
      this.#directories.add(directory)
      this.#record({ kind: 'create-directory', path: directory, call })
    }
    create(path)
  }

  /** Makes the directory and its parents durable, even if another process created them. */
  landCreation(path: string): void {
    this.#landNames((change) => change.kind === 'create-directory' && isWithin(path, change.path))
  }

  list(path: string): string[] {
    this.#assertDirectory(path)
    // In an arbitrary order, so that no caller relies on one.
    return this.#childrenOf(path)
      .map((child) => posix.basename(child))
      .sort((a, b) => scatter(a) - scatter(b) || (a < b ? -1 : 1))
  }

  find(path: string): Inode {
    const inode = this.#names.get(path)
    if (inode !== undefined) return inode
    throw new Refused(this.#directories.has(path) ? 'EISDIR' : 'ENOENT')
  }

  has(path: string): boolean {
    return this.#names.has(path)
  }

  create(path: string, call: number): Inode {
    if (this.#names.has(path) || this.#directories.has(path)) throw new Refused('EEXIST')
    this.#assertParent(path)
    const inode = new Inode()
    this.#names.set(path, inode)
    this.#record({ kind: 'create', path, inode, call })
    return inode
  }

  rename(from: string, to: string, call: number): void {
    if (this.#directories.has(from)) {
      this.#renameDirectory(from, to, call)
      return
    }
    const inode = this.find(from)
    this.#assertParent(to)
    if (this.#directories.has(to)) throw new Refused('EISDIR')
    if (from === to) return
    this.#forgetName(to)
    this.#names.delete(from)
    this.#names.set(to, inode)
    this.#record({ kind: 'rename', path: from, to, inode, call })
  }

  remove(path: string, call: number): void {
    this.find(path)
    this.#forgetName(path)
    this.#record({ kind: 'remove', path, call })
  }

  removeDirectory(path: string, call: number): void {
    this.#assertDirectory(path)
    if (this.#childrenOf(path).length > 0) throw new Refused('ENOTEMPTY')
    this.#directories.delete(path)
    this.#record({ kind: 'remove-directory', path, call })
  }

  assertSyncable(path: string): void {
    this.#assertDirectory(path)
  }

  landDirectory(path: string, mark: number): void {
    this.#landNames((change) => change.order <= mark && touches(change, path))
  }

  /** The directory's changes stay visible, but no sync will land them. */
  forgetDirectory(path: string, mark: number): void {
    this.#pendingNames = this.#pendingNames.filter(
      (change) =>
        change.order > mark || !touches(change, path) || change.kind === 'create-directory',
    )
  }

  /** Undoes the directory's changes for all processes. */
  revertDirectory(path: string, mark: number): void {
    this.forgetDirectory(path, mark)
    this.#names.clear()
    this.#directories.clear()
    for (const [name, inode] of this.#mediumNames) this.#names.set(name, inode)
    for (const name of this.#mediumDirectories) this.#directories.add(name)
    for (const change of this.#pendingNames) applyName(change, this.#names, this.#directories)
  }

  oweError(directory: string): void {
    this.#owingError.add(directory)
  }

  /** Whether a late error is due for the directory. It is reported once. */
  takeOwedError(directory: string): boolean {
    return this.#owingError.delete(directory)
  }

  // Files

  /** Writes as many bytes as there is space for. */
  write(
    inode: Inode,
    bytes: Uint8Array,
    position: number,
    origin: { call: number; path: string },
  ): { taken: number; pending: PendingWrite | undefined } {
    if (bytes.length === 0) return { taken: 0, pending: undefined }
    const taken = this.#roomFor(inode, position, bytes.length)
    if (taken === 0) throw new Refused('ENOSPC')
    const stamp = { ...origin, order: ++this.#order }
    return { taken, pending: inode.write(bytes.subarray(0, taken), position, stamp) }
  }

  /** Replaces the content in cache and medium: the content of a lock file does not matter after a crash. */
  replaceAtOnce(inode: Inode, bytes: Uint8Array): void {
    if (this.#roomFor(inode, 0, bytes.length) < bytes.length) throw new Refused('ENOSPC')
    inode.replace(bytes)
  }

  hold(inode: Inode): void {
    inode.handles++
  }

  letGo(inode: Inode): void {
    inode.handles--
    if (inode.handles === 0) this.#orphans.delete(inode)
  }

  usedBytes(): number {
    let sectors = 0
    for (const inode of this.#names.values()) sectors += inode.cache.sectorsAllocated
    for (const inode of this.#orphans) sectors += inode.cache.sectorsAllocated
    return sectors * sectorBytes
  }

  dropCleanPages(): void {
    for (const inode of this.#reachable()) inode.dropCleanPages()
  }

  // Power loss

  pendingChanges(): PendingChange[] {
    return this.#pending().map(({ change }) => change)
  }

  /** The volume after a power loss that kept the chosen changes. */
  afterPowerLoss(keep: (change: PendingChange, index: number) => boolean): Volume {
    const left = this.clone()
    for (const [index, { change, land }] of left.#pending().entries()) {
      if (keep(change, index)) land()
    }
    left.#becomeMedium()
    return left
  }

  /** The pending changes, oldest first, each with a function that lands it alone. */
  #pending(): { order: number; change: PendingChange; land: () => void }[] {
    const changes = this.#pendingNames.map((change) => ({
      order: change.order,
      change: describeName(change),
      land: () => applyName(change, this.#mediumNames, this.#mediumDirectories),
    }))
    const writes = [...this.#reachable()].flatMap((inode) =>
      inode.pending.flatMap((write) => pendingSectors(inode, write)),
    )
    return [...changes, ...writes].sort((a, b) => a.order - b.order)
  }

  #becomeMedium(): void {
    this.#names.clear()
    this.#directories.clear()
    this.#pendingNames = []
    // Parents first: a lost directory loses its entries, too.
    for (const path of [...this.#mediumDirectories].sort((a, b) => a.length - b.length)) {
      if (path === '/' || path === '.' || this.#directories.has(posix.dirname(path))) {
        this.#directories.add(path)
      } else {
        this.#mediumDirectories.delete(path)
      }
    }
    for (const [path, inode] of this.#mediumNames) {
      if (!this.#directories.has(posix.dirname(path))) {
        this.#mediumNames.delete(path)
        continue
      }
      inode.pending = []
      inode.owesError = false
      inode.medium.resize(inode.medium.size)
      inode.cache = inode.medium.fork()
      this.#names.set(path, inode)
    }
  }

  // Damage, which affects both cache and medium

  paths(): string[] {
    return [...this.#names.keys()].sort()
  }

  /** Lands all pending names and the pending writes of this file, so that damage has one defined state. */
  settleFile(path: string): Inode {
    this.#landNames(() => true)
    const inode = this.find(path)
    inode.land(() => true)
    inode.cache = inode.medium.fork()
    return inode
  }

  putFile(path: string, bytes: Uint8Array): void {
    this.createDirectory(posix.dirname(path), -1)
    if (!this.has(path)) this.create(path, -1)
    this.settleFile(path).replace(bytes)
  }

  changeContent(path: string, change: (content: Content) => void): void {
    const inode = this.settleFile(path)
    change(inode.medium)
    inode.cache = inode.medium.fork()
  }

  dropFile(path: string): void {
    this.settleFile(path)
    this.remove(path, -1)
    this.#landNames(() => true)
  }

  moveFile(from: string, to: string): void {
    this.settleFile(from)
    this.rename(from, to, -1)
    this.#landNames(() => true)
  }

  // Inside

  #renameDirectory(from: string, to: string, call: number): void {
    this.#assertParent(to)
    if (this.#names.has(to)) throw new Refused('ENOTDIR')
    if (isWithin(to, from)) throw new Refused(to === from ? 'EEXIST' : 'EINVAL')
    if (this.#directories.has(to) && this.#childrenOf(to).length > 0) throw new Refused('ENOTEMPTY')
    // The effect of a power loss on pending names in a renamed directory is not modelled.
    const pending = this.#pendingNames.find(({ path }) => path !== from && isWithin(path, from))
    if (pending !== undefined)
      throw new Error(`${from} is renamed while ${pending.path} is pending`)
    moveDirectory(from, to, this.#names, this.#directories)
    this.#record({ kind: 'rename-directory', path: from, to, call })
  }

  #childrenOf(path: string): string[] {
    const inside = (child: string): boolean => child !== path && posix.dirname(child) === path
    return [...this.#names.keys(), ...this.#directories].filter(inside)
  }

  #record(change: {
    kind: NameChange['kind']
    path: string
    to?: string
    inode?: Inode
    call: number
  }): void {
    const { kind, path, to, inode, call } = change
    this.#pendingNames.push({ order: ++this.#order, call, kind, path, to, inode })
  }

  #landNames(chosen: (change: NameChange) => boolean): void {
    const landing = new Set<NameChange>()
    const touched = new Set<string>()
    // A landed change also lands earlier changes of the same names, which could undo it later.
    for (const change of [...this.#pendingNames].reverse()) {
      const names = change.to === undefined ? [change.path] : [change.path, change.to]
      if (!chosen(change) && !names.some((name) => touched.has(name))) continue
      landing.add(change)
      for (const name of names) touched.add(name)
    }
    const rest: NameChange[] = []
    for (const change of this.#pendingNames) {
      if (landing.has(change)) applyName(change, this.#mediumNames, this.#mediumDirectories)
      else rest.push(change)
    }
    this.#pendingNames = rest
  }

  #forgetName(path: string): void {
    const inode = this.#names.get(path)
    this.#names.delete(path)
    if (inode !== undefined && inode.handles > 0) this.#orphans.add(inode)
  }

  #reachable(): Set<Inode> {
    const named = this.#pendingNames
      .map(({ inode }) => inode)
      .filter((inode) => inode !== undefined)
    return new Set([...this.#names.values(), ...this.#mediumNames.values(), ...named])
  }

  /** The number of bytes of the write that fit, when sectors are allocated one by one. */
  #roomFor(inode: Inode, position: number, length: number): number {
    if (this.capacityBytes === Number.POSITIVE_INFINITY) return length
    const first = Math.floor(position / sectorBytes)
    const end = Math.ceil((position + length) / sectorBytes)
    let free: number | undefined
    for (let sector = first; sector < end; sector++) {
      if (inode.cache.isAllocated(sector)) continue
      free ??= Math.floor((this.capacityBytes - this.usedBytes()) / sectorBytes)
      if (free <= 0) return Math.max(0, sector * sectorBytes - position)
      free--
    }
    return length
  }

  #assertDirectory(path: string): void {
    if (this.#directories.has(path)) return
    throw new Refused(this.#names.has(path) ? 'ENOTDIR' : 'ENOENT')
  }

  #assertParent(path: string): void {
    this.#assertDirectory(posix.dirname(path))
  }
}

function pendingSectors(inode: Inode, write: PendingWrite) {
  const { order, call, path, size } = write
  const sectors = sectorsOf(write).map((sector) => ({
    order,
    change: { kind: 'sector', call, path, sector } as PendingChange,
    land: () => inode.landSector(write, sector),
  }))
  if (size === undefined) return sectors
  const change: PendingChange = { kind: 'size', call, path, size }
  return [...sectors, { order, change, land: () => inode.landSize(size) }]
}

/** FNV-1a. Gives an order that is neither alphabetical nor that of creation. */
function scatter(name: string): number {
  let hash = 0x811c_9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x0100_0193)
  return hash >>> 0
}
