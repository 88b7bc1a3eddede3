/**
 * The seam to the file system: everything the log asks of a disk, and nothing more.
 *
 * `NodeDisk` carries it out for real; the simulated disk of the tests loses, tears and refuses.
 * What a method promises about a power loss is part of its contract, because recovery relies on it.
 * Every method fails with an error that carries the operating system's `code` (`ENOSPC`, `EIO`, …).
 */
export interface Disk {
  /** Creates the directory and its missing parents. Must not resolve before their names are durable. */
  createDirectory(path: string): Promise<void>

  /** The names in the directory, in no particular order. */
  list(path: string): Promise<string[]>

  /** Must not resolve before every name created, renamed or removed in the directory is durable. */
  syncDirectory(path: string): Promise<void>

  /** Opens the file; see `OpenMode`. */
  open(path: string, mode: OpenMode): Promise<DiskFile>

  /**
   * Gives the file another name, replacing what stood there, in one step that no crash can halve.
   * A directory keeps everything in it; nothing may stand where it goes.
   */
  rename(from: string, to: string): Promise<void>

  /** Removes the name. Durable only after `syncDirectory`. */
  remove(path: string): Promise<void>

  /** How much room this process has on the file system that holds the path. Fails where that is not known. */
  freeBytes(path: string): Promise<number>

  /** Removes the directory, which has to be empty. Durable only after `syncDirectory` of its parent. */
  removeDirectory(path: string): Promise<void>

  /**
   * Tries to take the exclusive lock on the file, creating it when missing, and leaves `holder`
   * in it for others to read. The lock must end with the process, however the process ends.
   */
  lock(path: string, holder: string): Promise<LockAttempt>
}

/**
 * - `read`: an existing file, for reading only.
 * - `create`: a new file for reading and writing; fails with `EEXIST` when the name is taken.
 * - `write`: an existing file for reading and writing; written bytes are durable after `sync`.
 * - `durable`: an existing file for reading and writing; written bytes are durable when the write
 *   has returned.
 */
export type OpenMode = 'read' | 'create' | 'write' | 'durable'

export interface DiskFile {
  size(): Promise<number>

  /** Fills `into` from `position`; returns how many bytes it read, fewer at the file's end or by chance. */
  read(into: Uint8Array, position: number): Promise<number>

  /** Writes off the event loop; returns how many bytes were taken, which may be fewer than offered. */
  write(bytes: Uint8Array, position: number): Promise<number>

  /** The same on the event loop, which stands still meanwhile. */
  writeOnLoop(bytes: Uint8Array, position: number): number

  /** Must not resolve before everything written and the file's size are durable. */
  sync(): Promise<void>

  close(): Promise<void>
}

export type LockAttempt =
  | { readonly granted: true; release(): Promise<void> }
  | { readonly granted: false; readonly holder: string }
