import type { CoordinatorParts } from '../core/parts.js'

/** How large a page gets, where frames are large enough. */
const pageBytesMax = 128 * 1024

export function pageBytes({ answerBytesMax = pageBytesMax }: CoordinatorParts): number {
  return Math.min(pageBytesMax, answerBytesMax)
}
