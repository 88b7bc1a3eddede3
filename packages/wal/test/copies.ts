import { isDeepStrictEqual } from 'node:util'
import { crc32 } from 'node:zlib'
import type { Clock } from '@tenure/seams'
import type { SimulatedDisk } from '@tenure/testing'
import type { Test } from 'tap'
import {
  type BackupOptions,
  backupLog,
  type Disk,
  type DiskFile,
  openLog,
  type RestoreOptions,
  restoreLog,
  verifyLog,
} from '../src/index.js'
import { appendOneByOne, directory, range, replayedLsns, World } from './world.js'

export const destination = '/backups/monday'

/** Copies the world's log without waiting for anything else. */
export function backUp(world: World, options: BackupOptions = {}) {
  const { disk } = world
  return backupLog(directory, destination, { disk, clock: hastyClock(world), ...options })
}

export function restore(world: World, to: string, options: RestoreOptions = {}) {
  const { disk } = world
  return restoreLog(destination, to, { disk, clock: hastyClock(world), ...options })
}

/** A clock whose timers fire immediately, after `meanwhile`. */
export function hastyClock({ clock }: World, meanwhile = () => {}): Clock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    soon: (callback) => clock.soon(callback),
    setTimer(_delayMs, callback) {
      meanwhile()
      clock.soon(callback)
      return { cancel() {} }
    },
  }
}

/**
 * A closed log of several segments with three checkpoints and records up to 35. The first 10
 * records are removed.
 */
export async function withLog(): Promise<World> {
  const world = new World()
  const log = await world.open()
  for (const lsn of [10, 20, 30]) {
    await appendOneByOne(log, 10)
    await log.roll()
    await log.writeCheckpoint(lsn, [Buffer.from(`the state after ${lsn}`)])
    if (lsn === 20) await log.truncate()
  }
  await appendOneByOne(log, 5)
  await log.close()
  // So that no write is pending any more.
  return world.with(world.disk.powerLoss('keep-all'))
}

/** The files under a path, or `undefined` if it does not exist. */
export function filesUnder(disk: SimulatedDisk, path: string): string[] | undefined {
  const files = disk.files().filter((file) => file.startsWith(`${path}/`))
  return files.length === 0 ? undefined : files
}

/** A short digest of every file under the path. */
export function contentOf(disk: SimulatedDisk, path: string): Record<string, string> {
  const files = filesUnder(disk, path) ?? []
  return Object.fromEntries(
    files.map((file) => {
      const bytes = disk.readFile(file)
      return [file, `${bytes.length} bytes, ${crc32(bytes)}`]
    }),
  )
}

/** Fails unless the copy is complete, replays exactly these records, and can be opened and restored. */
export async function checkWhole(
  t: Test,
  world: World,
  firstLsn: number,
  lastLsn: number,
  what = '',
) {
  const { damage, tornTail, badCheckpoints, ...verified } = await verifyLog(destination, {
    disk: world.disk,
  })
  const found: unknown[] = [damage, tornTail, badCheckpoints, verified.firstLsn, verified.lastLsn]
  const lsns = range(firstLsn, lastLsn)
  const expected: unknown[] = [undefined, undefined, [], firstLsn, lastLsn]
  const copy = world.copier()
  for (const restored of [undefined, true] as const) {
    const machine = copy()
    const options = machine.options(restored === undefined ? {} : { restored })
    const log = await openLog(destination, options)
    found.push(await replayedLsns(t, log, firstLsn), log.nextLsn > lastLsn + 1)
    expected.push(lsns, restored === true)
    await appendOneByOne(log, 3)
    await log.close()
  }
  // Checked thousands of times, so the passing case is cheap.
  if (isDeepStrictEqual(found, expected)) t.pass(what)
  else t.same(found, expected, what)
}

/** A disk that calls `before` ahead of every call. */
export function steppedDisk(disk: Disk, before: () => Promise<void>): Disk {
  const stepped =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await before()
      return call(...args)
    }
  const steppedFile = (file: DiskFile): DiskFile => ({
    size: stepped(() => file.size()),
    read: stepped((into, position) => file.read(into, position)),
    write: stepped((bytes, position) => file.write(bytes, position)),
    writeOnLoop: (bytes, position) => file.writeOnLoop(bytes, position),
    pin: stepped(() => file.pin()),
    sync: stepped(() => file.sync()),
    close: stepped(() => file.close()),
  })
  return {
    createDirectory: stepped((path) => disk.createDirectory(path)),
    list: stepped((path) => disk.list(path)),
    syncDirectory: stepped((path) => disk.syncDirectory(path)),
    rename: stepped((from, to) => disk.rename(from, to)),
    remove: stepped((path) => disk.remove(path)),
    freeBytes: stepped((path) => disk.freeBytes(path)),
    isPinned: stepped((path) => disk.isPinned(path)),
    removeDirectory: stepped((path) => disk.removeDirectory(path)),
    lock: stepped((path, holder) => disk.lock(path, holder)),
    open: stepped(async (path, mode) => steppedFile(await disk.open(path, mode))),
  }
}
