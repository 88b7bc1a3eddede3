import { readFileSync } from 'node:fs'
import { refusedMax } from './peers.js'

/** For the log, its checkpoints and histories, the HTTP port, and those who are refused. */
const filesKept = 200 + refusedMax

/**
 * For how many connections this process has descriptors; `undefined` where the system does not say. One
 * more would not fail alone: the log would, when it comes to the next of its files.
 */
export function connectionsPossible(): number | undefined {
  let limits: string
  try {
    limits = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    // Only Linux has it.
    return undefined
  }
  const openFilesMax = /^Max open files +(\d+)/m.exec(limits)?.[1]
  return openFilesMax === undefined ? undefined : Math.max(1, Number(openFilesMax) - filesKept)
}
