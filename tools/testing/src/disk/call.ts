/** A record of one call through the seam, as tests find it in `disk.calls` and aim faults at it. */
import type { OpenMode } from './seam.js'

export type DiskCallKind =
  | 'createDirectory'
  | 'list'
  | 'freeBytes'
  | 'syncDirectory'
  | 'open'
  | 'rename'
  | 'remove'
  | 'removeDirectory'
  | 'lock'
  | 'release'
  | 'size'
  | 'read'
  | 'write'
  | 'writeOnLoop'
  | 'sync'
  | 'close'

export interface DiskCall {
  /** Counts all calls on the disk, of every process, from 0. */
  readonly index: number
  /** Which process called; the disk itself is process 0. */
  readonly process: number
  readonly kind: DiskCallKind
  readonly path: string
  /** The new name, of a rename. */
  readonly to?: string
  /** How the file is or was opened. */
  readonly mode?: OpenMode
  /** Where a read or write begins. */
  readonly position?: number
  /** How many bytes a read or write asks for. */
  readonly bytes?: number
}

export type CallDetails = Omit<DiskCall, 'index' | 'process'>

/** The system call that carries it out on a real disk: Node names it in its errors. */
export const syscalls: Readonly<Record<DiskCallKind, string>> = {
  createDirectory: 'mkdir',
  freeBytes: 'statfs',
  list: 'scandir',
  syncDirectory: 'fsync',
  open: 'open',
  rename: 'rename',
  remove: 'unlink',
  removeDirectory: 'rmdir',
  lock: 'flock',
  release: 'close',
  size: 'fstat',
  read: 'read',
  write: 'write',
  writeOnLoop: 'write',
  sync: 'fsync',
  close: 'close',
}

export function isWrite(call: CallDetails): boolean {
  return call.kind === 'write' || call.kind === 'writeOnLoop'
}

/** Whether a success of this call claims that something is on the medium. */
export function isSync(call: CallDetails): boolean {
  if (call.kind === 'sync' || call.kind === 'syncDirectory') return true
  return isWrite(call) && call.mode === 'durable'
}

/** Whether the call changes anything, and so fails on a disk that no longer takes writes. */
export function isChange(call: CallDetails): boolean {
  switch (call.kind) {
    case 'createDirectory':
    case 'syncDirectory':
    case 'rename':
    case 'remove':
    case 'removeDirectory':
    case 'lock':
    case 'write':
    case 'writeOnLoop':
    case 'sync':
      return true
    case 'open':
      return call.mode === 'create'
    default:
      return false
  }
}
