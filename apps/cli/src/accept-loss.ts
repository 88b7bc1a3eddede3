import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type AcceptedLoss, openLog } from '@tenure/wal'

/** What was done. */
export interface Acceptance {
  /** The log goes on here; the LSNs before it are a declared gap. */
  readonly nextLsn: number
  /** What was cut off, by its name in quarantine/. */
  readonly quarantined: readonly string[]
}

/** Opens the log at the price named, which has to be the place of its damage, and closes it again. */
export async function acceptLoss(
  directory: string,
  place: AcceptedLoss,
  askedLsn: number | undefined,
): Promise<Acceptance> {
  const before = new Set(quarantineOf(directory))
  const restored = askedLsn === undefined ? {} : { restored: { nextLsn: askedLsn } }
  const log = await openLog(directory, { acceptLoss: place, ...restored })
  const { nextLsn } = log
  await log.close()
  return { nextLsn, quarantined: quarantineOf(directory).filter((name) => !before.has(name)) }
}

function quarantineOf(directory: string): string[] {
  try {
    return readdirSync(join(directory, 'quarantine')).sort()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
