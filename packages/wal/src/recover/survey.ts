import type { Disk } from '../disk/disk.js'
import { readIfPresent } from '../disk/files.js'
import { systemCode, WalDamageError } from '../errors.js'
import { bytesEqual } from '../format/bytes.js'
import type { Layout } from '../format/layout.js'
import type { Examination } from './examination.js'
import { examine } from './examine.js'

/** How many times to look again when a running writer may have interfered. */
const attemptsMax = 10

export interface Survey {
  readonly examination: Examination
  /** The bytes of `HEAD` at the time of the examination. */
  readonly head: Uint8Array | undefined
}

/**
 * Names and headers as they were at one moment. A writer that rolls or truncates during the reading
 * can make them look damaged. Real damage is still there at the next look.
 */
export async function surveyUntilStable(disk: Disk, layout: Layout): Promise<Survey> {
  for (let look = 1; ; look++) {
    const before = await readIfPresent(disk, layout.head)
    let problem: unknown
    try {
      const examination = await examine(disk, layout, 'names')
      if (examination.damage === undefined) return { examination, head: before }
      problem = new WalDamageError(examination.damage)
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error
      problem = error
    }
    const after = await readIfPresent(disk, layout.head)
    const isSteady =
      before === after || (before !== undefined && after !== undefined && bytesEqual(before, after))
    if (look >= attemptsMax || (isSteady && problem instanceof WalDamageError)) throw problem
  }
}
