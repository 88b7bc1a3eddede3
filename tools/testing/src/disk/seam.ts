/**
 * The file system seam as the log declares it. It is repeated here because the log's tests depend on this
 * package. The log documents the contract, and the compiler compares the two where a simulated disk is passed
 * to the log.
 */
export interface Disk {
  createDirectory(path: string): Promise<void>
  list(path: string): Promise<string[]>
  syncDirectory(path: string): Promise<void>
  open(path: string, mode: OpenMode): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  freeBytes(path: string): Promise<number>
  isPinned(path: string): Promise<boolean>
  removeDirectory(path: string): Promise<void>
  lock(path: string, holder: string): Promise<LockAttempt>
}

export type OpenMode = 'read' | 'create' | 'write' | 'durable'

export interface DiskFile {
  size(): Promise<number>
  read(into: Uint8Array, position: number): Promise<number>
  write(bytes: Uint8Array, position: number): Promise<number>
  writeOnLoop(bytes: Uint8Array, position: number): number
  pin(): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

export type LockAttempt =
  | { readonly granted: true; release(): Promise<void> }
  | { readonly granted: false; readonly holder: string }
