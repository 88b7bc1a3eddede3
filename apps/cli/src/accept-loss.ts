import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type AcceptedLoss, openLog, WalError } from '@tenure/wal'

/** What was done. */
export interface Acceptance {
  /** The log goes on here; the LSNs before it are a declared gap. */
  readonly nextLsn: number
  /** What was cut off, by its name in quarantine/. */
  readonly quarantined: readonly string[]
}

/**
 * Opens the log at the price named and closes it again. `undefined`: the damage is at another place,
 * and nothing was changed.
 */
export async function acceptLoss(
  directory: string,
  place: AcceptedLoss,
): Promise<Acceptance | undefined> {
  const before = new Set(quarantineOf(directory))
  try {
    const log = await openLog(directory, { acceptLoss: place })
    const { nextLsn } = log
    await log.close()
    return { nextLsn, quarantined: quarantineOf(directory).filter((name) => !before.has(name)) }
  } catch (error) {
    if (error instanceof WalError && error.code === 'WAL_BAD_OPTION') return undefined
    throw error
  }
}

function quarantineOf(directory: string): string[] {
  try {
    return readdirSync(join(directory, 'quarantine')).sort()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
