import type { Damage } from '../damage.js'
import type { Disk } from '../disk/disk.js'
import { WalDamageError, WalError } from '../errors.js'
import type { Layout } from '../format/layout.js'
import { type Verification, verifyLog } from '../inspect/verify.js'
import type { Picture } from './copy-log.js'

/**
 * Reads the copy from end to end. It has to be whole, and to be what was to be copied: a copy whose
 * last bytes went astray could look like a log that ends earlier. Where it is not, the original
 * tells whose fault that is.
 */
export async function checkCopy(
  disk: Disk,
  from: Layout,
  to: Layout,
  { segments, end, badCheckpoints }: Picture,
): Promise<Verification> {
  const found = await verifyLog(to.root, { disk })
  const { lastLsn, tornTail } = found
  // A copy is for looking back, too: what no restart needs has to be in it all the same.
  const damage = firstDamageOf(found)
  if (damage !== undefined) {
    const original = firstDamageOf(await verifyLog(from.root, { disk }))
    if (original?.file === damage.file) throw new WalDamageError(original)
    throw badCopy(to, `${damage.file}: ${damage.why}`)
  }
  if (tornTail !== undefined) throw badCopy(to, tornTail)
  if (lastLsn !== end.lastLsn) throw badCopy(to, `it ends at LSN ${lastLsn}, not ${end.lastLsn}`)
  // A batch without records is none the less one that was copied.
  const sealedBytes = segments.slice(1).map(({ header }) => header.previous.offset)
  const bytes = sealedBytes.reduce((sum, offset) => sum + offset, end.offset)
  if (found.bytes !== bytes) throw badCopy(to, `it has ${found.bytes} bytes, not ${bytes}`)
  // One that was bad in the original has been left out.
  for (const bad of found.badCheckpoints) throw badCopy(to, bad.why)
  return { ...found, badCheckpoints }
}

function firstDamageOf({ damage, historyDamage }: Verification): Damage | undefined {
  return damage ?? historyDamage[0]
}

function badCopy({ root }: Layout, why: string): WalError {
  const what = 'does not read back as what was copied'
  return new WalError('WAL_COPY_FAILED', `${root} ${what}: ${why}. Copy again, to a sound disk.`)
}
