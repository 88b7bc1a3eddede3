import { isDeepStrictEqual } from 'node:util'
import type { Disk } from '../disk/disk.js'
import { systemCode } from '../errors.js'
import type { Layout } from '../format/layout.js'
import type { Depth, Examination } from '../recover/examination.js'
import { examine } from '../recover/examine.js'

const looksMax = 6

/**
 * What a directory is worth while somebody may be writing in it. Rolls, truncations and the batch on
 * its way can make it look damaged for a moment: damage is believed when it is the same at a second
 * look, and a file that is gone was removed behind a checkpoint unless it stays away.
 */
export async function examineSteadily(
  disk: Disk,
  layout: Layout,
  depth: Depth,
): Promise<Examination> {
  let before: Examination | undefined
  for (let look = 1; ; look++) {
    const found = await tryToExamine(disk, layout, depth, look === looksMax)
    if (found === undefined) continue
    const isGood = found.damage === undefined && found.historyDamage.length === 0
    const isSame =
      before !== undefined && isDeepStrictEqual(allDamageOf(found), allDamageOf(before))
    if (isGood || isSame || look === looksMax) return found
    before = found
  }
}

function allDamageOf({ damage, historyDamage }: Examination) {
  return [damage, historyDamage]
}

async function tryToExamine(
  disk: Disk,
  layout: Layout,
  depth: Depth,
  isLast: boolean,
): Promise<Examination | undefined> {
  try {
    return await examine(disk, layout, depth, { besideWriter: true })
  } catch (error) {
    if (systemCode(error) === 'ENOENT' && !isLast) return undefined
    throw error
  }
}
