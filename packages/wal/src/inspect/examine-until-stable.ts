import { isDeepStrictEqual } from 'node:util'
import type { Disk } from '../disk/disk.js'
import { systemCode } from '../errors.js'
import type { Layout } from '../format/layout.js'
import type { Depth, Examination } from '../recover/examination.js'
import { examine } from '../recover/examine.js'

const attemptsMax = 6

/**
 * Examines a directory in which a writer may be active. A roll, a truncation or an unfinished write
 * can look like damage for a moment. So damage counts if a second look shows the same, and a
 * missing file is an error only in the last attempt, because a truncation may have removed it.
 */
export async function examineUntilStable(
  disk: Disk,
  layout: Layout,
  depth: Depth,
): Promise<Examination> {
  let before: Examination | undefined
  for (let look = 1; ; look++) {
    const found = await tryToExamine(disk, layout, depth, look === attemptsMax)
    if (found === undefined) continue
    const isGood = found.damage === undefined && found.historyDamage.length === 0
    const isSame =
      before !== undefined && isDeepStrictEqual(allDamageOf(found), allDamageOf(before))
    if (isGood || isSame || look === attemptsMax) return found
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
