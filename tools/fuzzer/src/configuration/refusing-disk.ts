import type { Disk } from '@tenure/wal'

class Reached extends Error {}

async function refuse(): Promise<never> {
  throw new Reached('the disk was reached')
}

/** Whoever comes as far as this disk has been configured soundly, and comes no further. */
export const refusingDisk: Disk = {
  createDirectory: refuse,
  list: refuse,
  syncDirectory: refuse,
  open: refuse,
  rename: refuse,
  remove: refuse,
  freeBytes: refuse,
  removeDirectory: refuse,
  lock: refuse,
}

export function wasReached(error: unknown): boolean {
  return error instanceof Reached
}
