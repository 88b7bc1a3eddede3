import type { Clock } from '@tenure/seams'
import { type DiskCall, SimulatedClock, SimulatedDisk } from '@tenure/testing'
import type { Test } from 'tap'
import {
  type Disk,
  type DiskFile,
  type Log,
  type LogOptions,
  openLog,
  verifyLog,
  WalError,
} from '../src/index.js'

export const directory = '/data/log'

/** Small enough for a few records to fill a segment. */
const smallOptions = { segmentBytes: 4096, appendBytesMax: 1024 }

/** A machine for a log: a disk and a clock, which outlive the log and its process. */
export class World {
  readonly disk: SimulatedDisk
  readonly clock: SimulatedClock

  constructor(
    disk = new SimulatedDisk(),
    clock = new SimulatedClock({ startMs: Date.UTC(2026, 6, 1) }),
  ) {
    this.disk = disk
    this.clock = clock
  }

  open(options: LogOptions = {}): Promise<Log> {
    return openLog(directory, this.options(options))
  }

  /** A clock on which every write is slow, so that the log writes in the thread pool. */
  slowClock(): Clock {
    const { clock } = this
    let slowMs = 0
    return {
      now: () => clock.now(),
      monotonicMs: () => {
        slowMs += 2
        return clock.monotonicMs() + slowMs
      },
      setTimer: (delayMs, callback) => clock.setTimer(delayMs, callback),
      soon: (callback) => clock.soon(callback),
    }
  }

  /** Opens the log and waits until its next segment is ready. */
  async openWithSpare(options: LogOptions = {}): Promise<Log> {
    let log: Promise<Log> | undefined
    await new Promise<void>((resolve, reject) => {
      const observer = { ...options.observer, sparePrepared: () => resolve() }
      log = this.open({ ...options, observer })
      log.catch(reject)
    })
    if (log === undefined) throw new Error('the log was not opened')
    return log
  }

  options(options: LogOptions = {}): LogOptions {
    return {
      ...smallOptions,
      disk: this.disk,
      clock: this.clock,
      randomBytes: (count) => new Uint8Array(count).fill(0xa5),
      ...options,
    }
  }

  verify() {
    return verifyLog(directory, { disk: this.disk })
  }

  /** This machine with another disk. */
  with(disk: SimulatedDisk): World {
    return new World(disk, this.clock)
  }

  /** Another machine with a copy of this one's disk. */
  copy(): World {
    return this.copier()()
  }

  /** Returns a function that creates machines with the current state of this disk. */
  copier(): () => World {
    const image = this.disk.snapshot()
    return () => this.with(SimulatedDisk.from(image, { recordCalls: false }))
  }

  /** Paths of the files, relative to the log's directory. */
  files(): string[] {
    const paths = this.disk.files().filter((path) => path.startsWith(`${directory}/`))
    return paths.map((path) => path.slice(directory.length + 1))
  }

  path(name: string): string {
    return `${directory}/${name}`
  }

  /** Segments that have begun. */
  segments(): string[] {
    return this.files().filter((name) => name.endsWith('.wal') && !this.isPrepared(name))
  }

  /** Whether the log cannot be opened without the file. */
  isNeeded(name: string): boolean {
    return name === 'HEAD' || (name.endsWith('.wal') && !this.isPrepared(name))
  }

  /** Whether it is the file of a segment that has not begun. */
  isPrepared(name: string): boolean {
    const header = this.disk.readFile(this.path(name)).subarray(0, 512)
    return name.endsWith('.wal') && header.every((byte) => byte === 0)
  }
}

/** A world whose disk can delay certain calls until they are released. */
export function worldThatHolds(isHeld: (call: DiskCall) => boolean) {
  const held: Array<() => void> = []
  const state = { isHolding: false }
  const latency = (call: DiskCall) =>
    state.isHolding && isHeld(call)
      ? new Promise<void>((resolve) => held.push(resolve))
      : Promise.resolve()
  const release = () => {
    state.isHolding = false
    for (const resolve of held.splice(0)) resolve()
  }
  return { world: new World(new SimulatedDisk({ latency })), state, held, release }
}

/** The LSN at which a log continues after a gap, by the world's clock. */
export function lineAt({ clock }: World): number {
  return (clock.now() - Date.UTC(2026, 0, 1)) * 4096
}

/** The record for an LSN. Its length and content follow from the number. */
export function recordOf(lsn: number): Uint8Array {
  const text = `record ${lsn} `
  return Buffer.from(text.repeat(1 + ((lsn * 7) % 11)))
}

/** Appends this many records, each after the previous one is durable, and returns the last LSN. */
export async function appendOneByOne(log: Log, count: number): Promise<number> {
  let lsn = log.durableLsn
  for (let index = 0; index < count; index++) {
    lsn = await log.append(log.nextLsn, recordOf(log.nextLsn))
  }
  return lsn
}

/** Appends this many records in one batch, and returns the last LSN. */
export function appendTogether(log: Log, count: number): Promise<number> {
  const records = Array.from({ length: count }, (_, index) => recordOf(log.nextLsn + index))
  return log.append(log.nextLsn, records)
}

/**
 * Two writers in one directory: the older one continues after the younger one has opened the log,
 * so that LSN 3 is written twice. The younger one is still open.
 */
export async function forkHistory(): Promise<{ world: World; usurper: Log }> {
  const world = new World(new SimulatedDisk({ locks: false }))
  const zombie = await world.open({ disk: world.disk.process() })
  await appendOneByOne(zombie, 2)
  const usurper = await world.open()
  await appendOneByOne(usurper, 1)
  await appendOneByOne(zombie, 2)
  return { world, usurper }
}

export interface Readable {
  replay(options?: {
    fromLsn?: number
  }): AsyncIterable<{ firstLsn: number; records: readonly Uint8Array[] }>
}

/** Every LSN that replays. Fails the test if a record is not the expected one. */
export async function replayedLsns(t: Test, log: Readable, fromLsn?: number): Promise<number[]> {
  const lsns: number[] = []
  for await (const run of log.replay(fromLsn === undefined ? {} : { fromLsn })) {
    for (const [index, record] of run.records.entries()) {
      const lsn = run.firstLsn + index
      if (Buffer.compare(record, recordOf(lsn)) !== 0)
        t.fail(`LSN ${lsn} replays as another record`)
      lsns.push(lsn)
    }
  }
  return lsns
}

export function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** Opens the log and closes it again, or returns the code of the error. */
export async function outcomeOf(
  t: Test,
  world: World,
  options: LogOptions = {},
): Promise<{ refused: string } | { lsns: number[] }> {
  let log: Log
  try {
    log = await world.open(options)
  } catch (error) {
    return { refused: codeOf(error) }
  }
  const lsns = await replayedLsns(t, log)
  await log.close()
  return { lsns }
}

export function codeOf(error: unknown): string {
  if (error instanceof WalError) return error.code
  if (error instanceof Error && 'code' in error) return String(error.code)
  throw error
}

/** The code with which the promise is rejected, or `undefined`. */
export async function rejection(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}

/** The disk, with some methods of its files replaced. */
export function withFileMethods(
  disk: Disk,
  replace: (file: DiskFile, path: string) => Partial<DiskFile>,
): Disk {
  return {
    createDirectory: (path) => disk.createDirectory(path),
    list: (path) => disk.list(path),
    syncDirectory: (path) => disk.syncDirectory(path),
    rename: (from, to) => disk.rename(from, to),
    remove: (path) => disk.remove(path),
    freeBytes: (path) => disk.freeBytes(path),
    isPinned: (path) => disk.isPinned(path),
    removeDirectory: (path) => disk.removeDirectory(path),
    lock: (path, holder) => disk.lock(path, holder),
    async open(path, mode) {
      const file = await disk.open(path, mode)
      return {
        size: () => file.size(),
        read: (into, position) => file.read(into, position),
        write: (bytes, position) => file.write(bytes, position),
        writeOnLoop: (bytes, position) => file.writeOnLoop(bytes, position),
        pin: () => file.pin(),
        sync: () => file.sync(),
        close: () => file.close(),
        ...replace(file, path),
      }
    },
  }
}
