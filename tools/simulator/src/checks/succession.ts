import type { DecodedEntry } from '@tenure/shared-log'
import { holds } from '../violation.js'

const check = 'the shared log is legal'

/**
 * Each entry continues the one before: by its chain, its epoch, its LSNs and its clock. No LSN is
 * issued twice.
 */
export function checkSuccession(
  entry: DecodedEntry,
  seq: number,
  before: DecodedEntry | undefined,
  lastLsn: number,
): void {
  const { chain, epoch, kind, firstLsn, clockMs } = entry
  const says = (what: string) => () => `entry ${seq}, ${kind} of epoch ${epoch}: ${what}`
  holds(chain === (before?.crc ?? 0), check, says('it does not continue the one before'))
  const epochBefore = before?.epoch ?? 0
  const isInTurn = kind === 'epoch' ? epoch === epochBefore + 1 : epoch === epochBefore
  holds(isInTurn, check, says(`it follows epoch ${epochBefore}`))
  holds(firstLsn === lastLsn + 1, check, says(`LSN ${firstLsn} follows LSN ${lastLsn}`))
  const clockBefore = before?.clockMs ?? 0
  holds(clockMs >= clockBefore, check, says(`its clock is ${clockBefore - clockMs} ms back`))
  const isResigned = before?.kind === 'resign' && kind !== 'epoch'
  holds(!isResigned, check, says('its coordinator has resigned'))
}
