/**
 * The file system as the log uses it.
 *
 * `nodeDisk` is the real one. The simulated disk of the tests loses writes, tears them and fails on
 * demand. Recovery relies on what each method promises about a power loss. Every method fails with
 * an error that carries the operating system's `code` (`ENOSPC`, `EIO`, …).
 */
export interface Disk {
  /** Creates the directory and its missing parents. Must not resolve before their names are durable. */
  createDirectory(path: string): Promise<void>

  /** The names in the directory, in any order. */
  list(path: string): Promise<string[]>

  /** Must not resolve before every name created, renamed or removed in the directory is durable. */
  syncDirectory(path: string): Promise<void>

  open(path: string, mode: OpenMode): Promise<DiskFile>

  /**
   * Renames the file atomically, replacing a file of the new name. A renamed directory keeps its
   * content; its new name must not exist.
   */
  rename(from: string, to: string): Promise<void>

  /** Removes the file. Durable only after `syncDirectory`. */
  remove(path: string): Promise<void>

  /**
   * Bytes that this process may still write on the path's file system. Fails if the file system
   * does not report it.
   */
  freeBytes(path: string): Promise<number>

  /** Whether another descriptor pins the file. See `DiskFile.pin`. */
  isPinned(path: string): Promise<boolean>

  /** Removes an empty directory. Durable only after `syncDirectory` of its parent. */
  removeDirectory(path: string): Promise<void>

  /**
   * Tries to take the exclusive lock on the file, which is created if missing, and writes `holder`
   * into it for other processes to read. The lock must end when the process ends, for whatever
   * reason.
   */
  lock(path: string, holder: string): Promise<LockAttempt>
}

/**
 * - `read`: an existing file, for reading only.
 * - `create`: a new file for reading and writing; fails with `EEXIST` if the name exists.
 * - `write`: an existing file for reading and writing; written bytes are durable after `sync`.
 * - `durable`: an existing file for reading and writing; written bytes are durable when the write
 *   has returned.
 */
export type OpenMode = 'read' | 'create' | 'write' | 'durable'

export interface DiskFile {
  size(): Promise<number>

  /**
   * Reads into `into` from `position` and returns the number of bytes. It can be fewer than
   * requested, not only at the end of the file.
   */
  read(into: Uint8Array, position: number): Promise<number>

  /** Writes in the thread pool and returns the number of bytes, which can be fewer than given. */
  write(bytes: Uint8Array, position: number): Promise<number>

  /** Like `write`, but blocks the event loop. */
  writeOnLoop(bytes: Uint8Array, position: number): number

  /**
   * Asks writers not to use the file for anything else until it is closed. Does nothing where the
   * platform has no shared locks.
   */
  pin(): Promise<void>

  /** Must not resolve before all written bytes and the file's size are durable. */
  sync(): Promise<void>

  close(): Promise<void>
}

export type LockAttempt =
  | { readonly granted: true; release(): Promise<void> }
  | { readonly granted: false; readonly holder: string }
