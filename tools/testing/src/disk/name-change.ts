import { posix } from 'node:path'
import type { Inode } from './inode.js'
import type { PendingChange } from './power-loss.js'

/** A change of a name that the cache contains and the medium may or may not contain. */
export interface NameChange {
  readonly order: number
  readonly call: number
  readonly kind:
    | 'create'
    | 'rename'
    | 'remove'
    | 'create-directory'
    | 'rename-directory'
    | 'remove-directory'
  readonly path: string
  readonly to: string | undefined
  readonly inode: Inode | undefined
}

export function touches(change: NameChange, directory: string): boolean {
  const inside = (path: string): boolean => posix.dirname(path) === directory
  return inside(change.path) || (change.to !== undefined && inside(change.to))
}

export function applyName(
  { kind, path, to, inode }: NameChange,
  names: Map<string, Inode>,
  directories: Set<string>,
): void {
  if (kind === 'create-directory') {
    directories.add(path)
    return
  }
  if (kind === 'remove-directory') {
    directories.delete(path)
    return
  }
  if (kind === 'rename-directory') {
    moveDirectory(path, to!, names, directories)
    return
  }
  names.delete(path)
  if (inode === undefined) return
  // If an earlier change was lost, the file may still have an older name; it has only one.
  for (const [name, other] of names) if (other === inode) names.delete(name)
  names.set(to ?? path, inode)
}

/** Renames the directory and everything in it. */
export function moveDirectory(
  from: string,
  to: string,
  names: Map<string, Inode>,
  directories: Set<string>,
): void {
  const moved = (path: string): string => to + path.slice(from.length)
  for (const [path, inode] of [...names]) {
    if (!isWithin(path, from)) continue
    names.delete(path)
    names.set(moved(path), inode)
  }
  for (const path of [...directories]) {
    if (isWithin(path, from) && directories.delete(path)) directories.add(moved(path))
  }
}

export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}

export function describeName({ kind, call, path, to }: NameChange): PendingChange {
  return kind === 'rename' || kind === 'rename-directory'
    ? { kind, call, path, to: to as string }
    : { kind, call, path }
}
