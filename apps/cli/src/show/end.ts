import type { Task } from '@tenure/client'
import { showBytes } from './bytes.js'

/** How a task ended, in a line. */
export function showEnd({ taskId, state, result, reason }: Task): string {
  const what = [
    ...(result === undefined ? [] : [showBytes(result)]),
    ...(reason === undefined || state === 'COMPLETED' ? [] : [reason]),
  ]
  return `task ${taskId} ${state}${what.length > 0 ? `: ${what.join('; ')}` : ''}`
}
