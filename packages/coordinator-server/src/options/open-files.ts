import { readFileSync } from 'node:fs'

/** How many connections of each kind there may be, so that descriptors are left for everything else. */
export interface OpenFileShares {
  readonly connections: number
  /** Peers that were refused and have not read why. */
  readonly refused: number
  readonly http: number
}

/**
 * What this process opens beside connections: some 40 for Node itself, the log and its spare descriptors;
 * the rest for the threads that make checkpoints and read histories, each of which has some 50 files
 * of code open at once when it begins.
 */
const ownFiles = 200
const refusedMax = 100
const httpMax = 64

/**
 * Shares out the descriptors of this process. With one connection too many it would not be the
 * connection that fails: the log would, at the next of its files.
 */
export function shareOpenFiles(openFilesMax = readOpenFilesMax()): OpenFileShares {
  const forPeers = Math.max(8, openFilesMax - ownFiles)
  const few = Math.floor(forPeers / 8)
  const refused = Math.min(refusedMax, few)
  const http = Math.min(httpMax, few)
  return { refused, http, connections: forPeers - refused - http }
}

/** Only Linux tells. */
function readOpenFilesMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const found = /^Max open files +(\d+)/m.exec(limits)?.[1]
    return found === undefined ? Number.POSITIVE_INFINITY : Number(found)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
