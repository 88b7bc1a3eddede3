import { readFileSync } from 'node:fs'

/** Maximum number of connections of each kind, so that enough file descriptors remain for other uses. */
export interface OpenFileShares {
  readonly connections: number
  /** Rejected peers that have not yet read the rejection. */
  readonly refused: number
  readonly http: number
}

/**
 * Descriptors that the process needs besides connections. Node, the log and its reserve need about 40. The
 * checkpoint and history threads each open about 50 source files while they start.
 */
const ownFiles = 200
const refusedMax = 100
const httpMax = 64

/**
 * Divides the process's descriptors. Without this, one connection too many would make the log fail when it
 * opens its next file.
 */
export function shareOpenFiles(openFilesMax = readOpenFilesMax()): OpenFileShares {
  const forPeers = Math.max(8, openFilesMax - ownFiles)
  const few = Math.floor(forPeers / 8)
  const refused = Math.min(refusedMax, few)
  const http = Math.min(httpMax, few)
  return { refused, http, connections: forPeers - refused - http }
}

/** Available on Linux only. */
function readOpenFilesMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const found = /^Max open files +(\d+)/m.exec(limits)?.[1]
    return found === undefined ? Number.POSITIVE_INFINITY : Number(found)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
