import type { Disk, DiskFile } from '@tenure/wal'

/**
 * A disk for work that nobody waits for: whoever reads or writes through it rests before each piece.
 * Nearly all that a checkpoint costs, the processor's time included, lies between two of these; so a
 * piece is small, however much is asked for.
 */
export function calmDisk(disk: Disk, rest: () => void): Disk {
  return {
    ...disk,
    open: async (path, mode) => calmFile(await disk.open(path, mode), rest),
  }
}

function calmFile(file: DiskFile, rest: () => void): DiskFile {
  return {
    size: () => file.size(),
    read(into, position) {
      rest()
      return file.read(into.subarray(0, calmPieceBytes), position)
    },
    write(bytes, position) {
      rest()
      return file.write(bytes, position)
    },
    writeOnLoop(bytes, position) {
      rest()
      return file.writeOnLoop(bytes, position)
    },
    sync: () => file.sync(),
    close: () => file.close(),
  }
}

/** About a millisecond's worth of records. */
export const calmPieceBytes = 64 * 1024
