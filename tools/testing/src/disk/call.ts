/** One call through the seam. Tests find it in `disk.calls` and aim faults at it. */
import type { OpenMode } from './seam.js'

export type DiskCallKind =
  | 'createDirectory'
  | 'list'
  | 'freeBytes'
  | 'syncDirectory'
  | 'open'
  | 'rename'
  | 'remove'
  | 'isPinned'
  | 'removeDirectory'
  | 'lock'
  | 'release'
  | 'size'
  | 'read'
  | 'write'
  | 'writeOnLoop'
  | 'pin'
  | 'sync'
  | 'close'

export interface DiskCall {
  /** Counts all calls on the disk, of every process, from 0. */
  readonly index: number
  /** Id of the calling process; the disk itself is process 0. */
  readonly process: number
  readonly kind: DiskCallKind
  readonly path: string
  /** The new name, for a rename. */
  readonly to?: string
  /** How the file is or was opened. */
  readonly mode?: OpenMode
  /** Offset of a read or write. */
  readonly position?: number
  /** Requested size of a read or write. */
  readonly bytes?: number
}

export type CallDetails = Omit<DiskCall, 'index' | 'process'>

/** The system call behind each call, which Node names in errors. */
export const syscalls: Readonly<Record<DiskCallKind, string>> = {
  createDirectory: 'mkdir',
  freeBytes: 'statfs',
  list: 'scandir',
  syncDirectory: 'fsync',
  open: 'open',
  rename: 'rename',
  remove: 'unlink',
  isPinned: 'flock',
  removeDirectory: 'rmdir',
  lock: 'flock',
  release: 'close',
  size: 'fstat',
  read: 'read',
  write: 'write',
  writeOnLoop: 'write',
  pin: 'flock',
  sync: 'fsync',
  close: 'close',
}

export function isWrite(call: CallDetails): boolean {
  return call.kind === 'write' || call.kind === 'writeOnLoop'
}

/** Whether success of this call means that data is on the medium. */
export function isSync(call: CallDetails): boolean {
  if (call.kind === 'sync' || call.kind === 'syncDirectory') return true
  return isWrite(call) && call.mode === 'durable'
}

/** Whether the call changes anything, and so fails on a dead disk. */
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
