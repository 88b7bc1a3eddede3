import { type DiskImage, SimulatedDisk } from '@tenure/testing'
import type { Damage } from '../scenario/scenario.js'

/**
 * Damages one file while the machine is off; returns false if there is none to damage. The newest
 * segment that has begun is never replaced by an older copy, because no log on one disk can notice
 * that.
 */
export function damageDisk(
  disk: SimulatedDisk,
  { kind, file, place }: Damage,
  former: DiskImage | undefined,
): boolean {
  const paths = disk.files().filter((path) => !path.endsWith('/LOCK'))
  const path = paths[Math.floor(file * paths.length)]
  if (path === undefined) return false
  switch (kind) {
    case 'flip':
      return flip(disk, path, place)
    case 'lose':
      disk.removeFile(path)
      return true
    case 'old':
      return former !== undefined && replaceByOld(disk, path, former)
  }
}

function flip(disk: SimulatedDisk, path: string, place: number): boolean {
  const bytes = disk.readFile(path)
  // Zeros fill the rest of a new file. In a used one, old content follows the written data.
  const end = 1 + bytes.findLastIndex((byte) => byte !== 0)
  const span = end === 0 ? bytes.length : end
  if (span === 0) return false
  disk.flipBit(path, Math.floor(place * span * 8))
  return true
}

function replaceByOld(disk: SimulatedDisk, path: string, former: DiskImage): boolean {
  if (path === newestSegmentOn(disk) || !former.files.includes(path)) return false
  const old = SimulatedDisk.from(former).readFile(path)
  if (Buffer.compare(old, disk.readFile(path)) === 0) return false
  disk.writeFile(path, old)
  return true
}

/** The header of a segment that has not begun is zeros. */
function newestSegmentOn(disk: SimulatedDisk): string | undefined {
  const hasBegun = (path: string) =>
    disk
      .readFile(path)
      .subarray(0, 512)
      .some((byte) => byte !== 0)
  return disk
    .files()
    .filter((path) => path.endsWith('.wal') && !path.includes('/quarantine/'))
    .findLast(hasBegun)
}
