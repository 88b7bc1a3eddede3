/**
 * A disk in memory that does what real disks do on bad days, when a test says so.
 *
 * It keeps apart what is on the medium from what reads see: a write, a new name, a file's size are
 * pending until the call that syncs them, and `powerLoss` shows what is left without them. Every
 * call through the seam is counted and can be made to fail, in every way that recovery must stand.
 */
import type { DiskCall } from './call.js'
import { type Fault, type PlannedFault, timesOf } from './fault.js'
import { Machine, type SimulatedDiskOptions } from './machine.js'
import { decideBy, type PendingChange, type PowerLossPolicy } from './power-loss.js'
import type { Disk, DiskFile, LockAttempt, OpenMode } from './seam.js'
import { SimulatedProcess } from './simulated-process.js'
import { Volume } from './volume.js'

/** A disk as it stood at one moment, with what was pending: as many disks as wanted start from it. */
export interface DiskImage {
  /** The paths of its files. */
  readonly files: readonly string[]
  /** For `SimulatedDisk.from` alone. */
  readonly volume: Volume
}

export class SimulatedDisk implements Disk {
  readonly #machine: Machine
  /** The process whose calls are made on the disk itself. */
  readonly #own: SimulatedProcess

  /** The volume becomes the disk's own. */
  constructor(options: SimulatedDiskOptions = {}, volume = new Volume()) {
    if (options.capacityBytes !== undefined) volume.capacityBytes = options.capacityBytes
    this.#machine = new Machine(volume, options)
    this.#own = new SimulatedProcess(this.#machine)
  }

  /** A disk that starts as the image shows; nothing is open or locked on it. */
  static from(image: DiskImage, options: SimulatedDiskOptions = {}): SimulatedDisk {
    return new SimulatedDisk(options, image.volume.clone())
  }

  // The seam, for a test with a single process

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

  removeDirectory(path: string): Promise<void> {
    return this.#own.removeDirectory(path)
  }

  lock(path: string, holder: string): Promise<LockAttempt> {
    return this.#own.lock(path, holder)
  }

  /** Another process on the same machine: it shares the cache, but no locks and no open files. */
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

  /** Lets the fault strike at the call with this index, and with `times` at those that follow. */
  failCall(index: number, fault: Fault): PlannedFault {
    const end = index + timesOf(fault)
    return this.#machine.faults.add((call) => call.index >= index && call.index < end, fault)
  }

  /** Lets the fault strike at the next call that matches, and with `times` at further ones. */
  failWhen(predicate: (call: DiskCall) => boolean, fault: Fault): PlannedFault {
    return this.#machine.faults.add(predicate, fault)
  }

  /** Forgets all planned faults and brings a dead device back to life. */
  heal(): void {
    this.#machine.faults.clear()
    this.#machine.dead = false
  }

  /** Memory ran short: what counts as written is read from the medium from now on. */
  dropCleanPages(): void {
    this.#machine.volume.dropCleanPages()
  }

  // Power

  get crashed(): boolean {
    return this.#machine.crashed
  }

  /** Resolves when the power was lost, by a fault or by `powerLoss`. */
  whenCrashed(): Promise<void> {
    return this.#machine.whenCrashed
  }

  /** What a power loss now would decide about, oldest first. */
  pending(): PendingChange[] {
    return this.#machine.volume.pendingChanges()
  }

  /**
   * Cuts the power and returns the disk as it is found afterwards. On this one every further call
   * is rejected with `Crashed`. It may be asked again, to see what another policy would have left.
   */
  powerLoss(policy: PowerLossPolicy, options: SimulatedDiskOptions = {}): SimulatedDisk {
    this.#machine.crash()
    const volume = this.#machine.volume.settle(decideBy(policy))
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

  // Behind the back of the code under test: no calls, no faults, cache and medium alike

  snapshot(): DiskImage {
    const volume = this.#machine.volume.clone()
    return { files: volume.paths(), volume }
  }

  /** The paths of all files, sorted. */
  files(): string[] {
    return this.#machine.volume.paths()
  }

  /** The file as reads see it. */
  readFile(path: string): Uint8Array {
    return this.#machine.volume.find(path).cache.toBytes()
  }

  /** Puts a file there, with its directories, in place of what stood there. */
  writeFile(path: string, bytes: Uint8Array): void {
    this.#machine.volume.putFile(path, bytes)
  }

  /** Turns over one bit; bit 0 is the lowest of the first byte. */
  flipBit(path: string, bitIndex: number): void {
    this.#machine.volume.changeContent(path, (content) => {
      if (bitIndex >= 8 * content.size) throw new RangeError(`${path} has no bit ${bitIndex}`)
      content.flipBit(bitIndex)
    })
  }

  /** Cuts the file, or extends it by a hole. */
  truncateFile(path: string, size: number): void {
    this.#machine.volume.changeContent(path, (content) => content.resize(size))
  }

  removeFile(path: string): void {
    this.#machine.volume.dropFile(path)
  }

  renameFile(from: string, to: string): void {
    this.#machine.volume.moveFile(from, to)
  }

  /** Gives each of the two files the other's content. */
  swapFiles(a: string, b: string): void {
    const [ofA, ofB] = [this.readFile(a), this.readFile(b)]
    this.writeFile(a, ofB)
    this.writeFile(b, ofA)
  }
}
