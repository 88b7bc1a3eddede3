import { holds } from '@tenure/harness'
import type { BaseLog } from './base-log.js'

/** Everything that a reader got out of a log. */
export interface Reading {
  readonly records: ReadonlyMap<number, Uint8Array>
  /** Ranges of LSNs that the log declares as possibly missing. */
  readonly gaps: readonly { readonly firstLsn: number; readonly lastLsn: number }[]
}

type RecordRange = { readonly firstLsn: number; readonly records: readonly Uint8Array[] }

interface Readable {
  readonly firstLsn: number
  readonly gaps: Reading['gaps']
  replay(options: { readonly fromLsn: number }): AsyncIterable<RecordRange>
}

/** Reads into `records`, which keeps the records before an error. */
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
 * Every record reads as it was written, and none before it is missing: the result is a prefix, with
 * holes only where the log declares them. The end may be lost: a batch that vanished completely
 * leaves no trace on a disk.
 */
export function checkPrefix(base: BaseLog, { records, gaps }: Reading, who: string): void {
  for (const [lsn, record] of records) {
    const written = base.records.get(lsn)
    holds(written !== undefined, 'only written records are read', () => `${who}: LSN ${lsn}`)
    holds(Buffer.compare(record, written!) === 0, 'records read as they were written', () => {
      return `${who}: LSN ${lsn}`
    })
  }
  const last = Math.max(0, ...records.keys())
  const first = Math.min(...records.keys())
  for (const lsn of base.records.keys()) {
    const isBetween = lsn > first && lsn < last
    const isDeclared = gaps.some((gap) => gap.firstLsn <= lsn && lsn <= gap.lastLsn)
    holds(
      !isBetween || records.has(lsn) || isDeclared,
      'no record is missing in the middle',
      () => {
        return `${who}: LSN ${lsn} is missing before LSN ${last}`
      },
    )
  }
}
