import { holds } from '@tenure/harness'
import type { BaseLog } from './base-log.js'

/** What somebody has read out of a log. */
export interface Reading {
  readonly records: ReadonlyMap<number, Uint8Array>
  /** Where LSNs may be missing, by the log's own word. */
  readonly gaps: readonly { readonly firstLsn: number; readonly lastLsn: number }[]
}

type Run = { readonly firstLsn: number; readonly records: readonly Uint8Array[] }

interface Readable {
  readonly firstLsn: number
  readonly gaps: Reading['gaps']
  replay(options: { readonly fromLsn: number }): AsyncIterable<Run>
}

/** Into `records`, which has what was read before an error, too. */
export async function readAll(
  log: Readable,
  records = new Map<number, Uint8Array>(),
): Promise<Reading> {
  for await (const run of log.replay({ fromLsn: log.firstLsn })) {
    for (const [index, record] of run.records.entries()) {
      const lsn = run.firstLsn + index
      holds(!records.has(lsn), 'a record is read once', () => `LSN ${lsn} is read twice`)
      records.set(lsn, record.slice())
    }
  }
  return { gaps: log.gaps, records }
}

/**
 * Whatever is read is what was written, and nothing is missing before it: what is left is a prefix,
 * with holes where the log declares them. The end may be lost: nothing on a disk tells of a whole
 * batch that went without a trace.
 */
export function checkPrefix(base: BaseLog, { records, gaps }: Reading, who: string): void {
  for (const [lsn, record] of records) {
    const written = base.records.get(lsn)
    holds(written !== undefined, 'nothing is read that was not written', () => `${who}: LSN ${lsn}`)
    holds(Buffer.compare(record, written!) === 0, 'what is read is what was written', () => {
      return `${who}: LSN ${lsn}`
    })
  }
  const last = Math.max(0, ...records.keys())
  const first = Math.min(...records.keys())
  for (const lsn of base.records.keys()) {
    const isBetween = lsn > first && lsn < last
    const isDeclared = gaps.some((gap) => gap.firstLsn <= lsn && lsn <= gap.lastLsn)
    holds(!isBetween || records.has(lsn) || isDeclared, 'nothing is missing in the middle', () => {
      return `${who}: LSN ${lsn} is missing before LSN ${last}`
    })
  }
}
