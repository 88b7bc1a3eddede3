/**
 * A disk in memory that fails in the ways of real disks, when a test says so.
 *
 * It separates the medium from what reads see: writes, names and sizes are pending until a call syncs them,
 * and `powerLoss` shows the result without them. Every call is counted and can be made to fail, in every way
 * that recovery must handle.
 */
import type { DiskCall } from './call.js'
import { type Fault, type PlannedFault, timesOf } from './fault.js'
import { Machine, type SimulatedDiskOptions } from './machine.js'
import { decideBy, type PendingChange, type PowerLossPolicy } from './power-loss.js'
import type { Disk, DiskFile, LockAttempt, OpenMode } from './seam.js'
import { SimulatedProcess } from './simulated-process.js'
import { Volume } from './volume.js'

/** A disk at one moment, including pending changes. Any number of disks can start from it. */
export interface DiskImage {
  /** The paths of its files. */
  readonly files: readonly string[]
  /** Only for `SimulatedDisk.from`. */
  readonly volume: Volume
}

export class SimulatedDisk implements Disk {
  readonly #machine: Machine
  /** The process that makes the calls of the disk itself. */
  readonly #own: SimulatedProcess

  /** Takes ownership of the volume. */
  constructor(options: SimulatedDiskOptions = {}, volume = new Volume()) {
    if (options.capacityBytes !== undefined) volume.capacityBytes = options.capacityBytes
    this.#machine = new Machine(volume, options)
    this.#own = new SimulatedProcess(this.#machine)
  }

  /** A disk with the content of the image; no file is open or locked. */
  static from(image: DiskImage, options: SimulatedDiskOptions = {}): SimulatedDisk {
    return new SimulatedDisk(options, image.volume.clone())
  }

  // Implements the seam, for tests with a single process.

  createDirectory(path: string): Promise<void> {
    return this.#own.createDirectory(path)
  }

  list(path: string): Promise<string[]> {
    return this.#own.list(path)
  }

  freeBytes(path: string): Promise<number> {
    return this.#own.freeBytes(path)
  }

  syncDirectory(path: string): Promise<void> {
    return this.#own.syncDirectory(path)
  }

  open(path: string, mode: OpenMode): Promise<DiskFile> {
    return this.#own.open(path, mode)
  }

  rename(from: string, to: string): Promise<void> {
    return this.#own.rename(from, to)
  }

  remove(path: string): Promise<void> {
    return this.#own.remove(path)
  }

  isPinned(path: string): Promise<boolean> {
    return this.#own.isPinned(path)
  }

  removeDirectory(path: string): Promise<void> {
    return this.#own.removeDirectory(path)
  }

  lock(path: string, holder: string): Promise<LockAttempt> {
    return this.#own.lock(path, holder)
  }

  /** Another process on the same machine. It shares the cache, but not locks and open files. */
  process(): SimulatedProcess {
    return new SimulatedProcess(this.#machine)
  }

  // Calls and faults

  /** Every call so far, of all processes. */
  get calls(): readonly DiskCall[] {
    return this.#machine.calls
  }

  get callCount(): number {
    return this.#machine.callCount
  }

  /** Plans a fault for the call with this index, and with `times` for the following ones. */
  failCall(index: number, fault: Fault): PlannedFault {
    const end = index + timesOf(fault)
    return this.#machine.faults.add((call) => call.index >= index && call.index < end, fault)
  }

  /** Plans a fault for the next matching call, and with `times` for further ones. */
  failWhen(predicate: (call: DiskCall) => boolean, fault: Fault): PlannedFault {
    return this.#machine.faults.add(predicate, fault)
  }

  /** Removes all planned faults and revives a dead device. */
  heal(): void {
    this.#machine.faults.clear()
    this.#machine.dead = false
  }

  /** Drops clean pages: reads see the medium for everything that counts as written. */
  dropCleanPages(): void {
    this.#machine.volume.dropCleanPages()
  }

  // Power

  get crashed(): boolean {
    return this.#machine.crashed
  }

  /** Resolves when the power is lost, by a fault or by `powerLoss`. */
  whenCrashed(): Promise<void> {
    return this.#machine.whenCrashed
  }

  /** The changes that a power loss would decide about now, oldest first. */
  pending(): PendingChange[] {
    return this.#machine.volume.pendingChanges()
  }

  /**
   * Cuts the power and returns the disk as it is found afterwards. Every later call on this disk is rejected
   * with `Crashed`. Call it again to see the result of another policy.
   */
  powerLoss(policy: PowerLossPolicy, options: SimulatedDiskOptions = {}): SimulatedDisk {
    this.#machine.crash()
    const volume = this.#machine.volume.afterPowerLoss(decideBy(policy))
    const { capacityBytes } = volume
    return new SimulatedDisk({ ...this.#machine.options, capacityBytes, ...options }, volume)
  }

  // Space

  get usedBytes(): number {
    return this.#machine.volume.usedBytes()
  }

  setCapacity(bytes: number): void {
    this.#machine.volume.capacityBytes = bytes
  }

  // Direct access for tests: no calls, no faults, and the same effect on cache and medium

  snapshot(): DiskImage {
    const volume = this.#machine.volume.clone()
    return { files: volume.paths(), volume }
  }

  /** The paths of all files, sorted. */
  files(): string[] {
    return this.#machine.volume.paths()
  }

  /** The content that reads see. */
  readFile(path: string): Uint8Array {
    return this.#machine.volume.find(path).cache.toBytes()
  }

  /** Creates or replaces the file, with its directories. */
  writeFile(path: string, bytes: Uint8Array): void {
    this.#machine.volume.putFile(path, bytes)
  }

  /** Flips one bit; bit 0 is the lowest bit of the first byte. */
  flipBit(path: string, bitIndex: number): void {
    this.#machine.volume.changeContent(path, (content) => {
      if (bitIndex >= 8 * content.size) throw new RangeError(`${path} has no bit ${bitIndex}`)
      content.flipBit(bitIndex)
    })
  }

  /** Truncates the file, or extends it with a hole. */
  truncateFile(path: string, size: number): void {
    this.#machine.volume.changeContent(path, (content) => content.resize(size))
  }

  removeFile(path: string): void {
    this.#machine.volume.dropFile(path)
  }

  renameFile(from: string, to: string): void {
    this.#machine.volume.moveFile(from, to)
  }

  /** Swaps the contents of two files. */
  swapFiles(a: string, b: string): void {
    const [ofA, ofB] = [this.readFile(a), this.readFile(b)]
    this.writeFile(a, ofB)
    this.writeFile(b, ofA)
  }
}
