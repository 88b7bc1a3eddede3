/**
 * The file system without time, calls and faults: names and files, each as the cache shows it and
 * as the medium holds it, with the changes that are on their way between the two.
 *
 * Every change of a name or a sector stays pending until a sync lands it. `settle` decides the
 * pending ones at a power loss and returns the volume that is left.
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

/** A refusal, with the code of the system error. */
export class Refused extends Error {
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

export class Volume {
  capacityBytes = Number.POSITIVE_INFINITY
  /** The names as everybody sees them, and as the medium holds them. */
  readonly #names = new Map<string, Inode>()
  readonly #mediumNames = new Map<string, Inode>()
  readonly #directories = new Set<string>(['/', '.'])
  readonly #mediumDirectories = new Set<string>(['/', '.'])
  /** Files without a name that are still open. */
  readonly #orphans = new Set<Inode>()
  /** Directories whose last sync was answered with success although it failed. */
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

  /** Marks this moment: a sync brings what is pending by then, and nothing later. */
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

  /** Makes durable that the directory is there, whoever created it and its parents. */
  landCreation(path: string): void {
    this.#landNames((change) => change.kind === 'create-directory' && isWithin(path, change.path))
  }

  list(path: string): string[] {
    this.#assertDirectory(path)
    // In an order that nobody can mistake for a promise.
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

  /** The directory's changes stay visible, but no sync will bring them to the medium. */
  forgetDirectory(path: string, mark: number): void {
    this.#pendingNames = this.#pendingNames.filter(
      (change) =>
        change.order > mark || !touches(change, path) || change.kind === 'create-directory',
    )
  }

  /** The directory's changes are undone for everybody. */
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

  /** Whether a late error was owed for the directory; it is told once. */
  takeOwedError(directory: string): boolean {
    return this.#owingError.delete(directory)
  }

  // Files

  /** Writes as much as there is room for. */
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

  /** What a lock leaves in its file is of no use after a crash: it is on the medium at once. */
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

  /** The volume as it is found after a power loss in which these changes were kept. */
  settle(keep: (change: PendingChange, index: number) => boolean): Volume {
    const settled = this.clone()
    for (const [index, { change, land }] of settled.#pending().entries()) {
      if (keep(change, index)) land()
    }
    settled.#becomeMedium()
    return settled
  }

  /** What is pending, oldest first, each with the way to bring it alone to the medium. */
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
    // Parents first: what is in a directory that was lost is lost with it.
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

  // Damage, which strikes the cache and the medium alike

  paths(): string[] {
    return [...this.#names.keys()].sort()
  }

  /** Ends what is pending for all names and for this file, so that damage finds one truth. */
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
    // What a power loss makes of a name that is pending in a directory that moves is not modelled.
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
    // A change carries with it those before it on the same names, else they would undo it later.
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

  /** How many bytes of the write fit, when new sectors are given out one by one. */
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

/** FNV-1a. Any order will do that is neither alphabetical nor that of creation. */
function scatter(name: string): number {
  let hash = 0x811c_9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x0100_0193)
  return hash >>> 0
}
