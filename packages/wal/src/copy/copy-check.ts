import type { Damage } from '../damage.js'
import type { Disk } from '../disk/disk.js'
import { WalDamageError, WalError } from '../errors.js'
import type { Layout } from '../format/layout.js'
import { type Verification, verifyLog } from '../inspect/verify.js'
import type { CopyContents } from './copy-log.js'

/**
 * Reads the copy from end to end and compares it with what was copied, because a copy that lost its
 * last bytes could look like a shorter log. If the copy is damaged, verifies the original to find
 * out which of the two is at fault.
 */
export async function checkCopy(
  disk: Disk,
  from: Layout,
  to: Layout,
  { segments, end, badCheckpoints }: CopyContents,
): Promise<Verification> {
  const found = await verifyLog(to.root, { disk })
  const { lastLsn, tornTail } = found
  // A copy must be complete for reading history, too, although a restart does not need that.
  const damage = firstDamageOf(found)
  if (damage !== undefined) {
    const original = firstDamageOf(await verifyLog(from.root, { disk }))
    if (original?.file === damage.file) throw new WalDamageError(original)
    throw badCopy(to, `${damage.file}: ${damage.why}`)
  }
  if (tornTail !== undefined) throw badCopy(to, tornTail)
  if (lastLsn !== end.lastLsn) throw badCopy(to, `it ends at LSN ${lastLsn}, not ${end.lastLsn}`)
  // Bytes, not records: a batch without records has to be copied, too.
  const sealedBytes = segments.slice(1).map(({ header }) => header.previous.offset)
  const bytes = sealedBytes.reduce((sum, offset) => sum + offset, end.offset)
  if (found.bytes !== bytes) throw badCopy(to, `it has ${found.bytes} bytes, not ${bytes}`)
  // Bad checkpoints of the original were not copied.
  for (const bad of found.badCheckpoints) throw badCopy(to, bad.why)
  return { ...found, badCheckpoints }
}

function firstDamageOf({ damage, historyDamage }: Verification): Damage | undefined {
  return damage ?? historyDamage[0]
}

function badCopy({ root }: Layout, why: string): WalError {
  const what = 'differs from what was copied'
  return new WalError('WAL_COPY_FAILED', `${root} ${what}: ${why}`, {
    remedy: 'Copy again, to a healthy disk',
  })
}
