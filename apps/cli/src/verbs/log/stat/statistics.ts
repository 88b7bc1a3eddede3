import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { entriesOf } from '@tenure/history/internal'
import type { RecordType } from '@tenure/state-machine'
import {
  type Gap,
  type HistoryDamage,
  type LogOpening,
  type LogReader,
  openReadOnly,
  type ReaderSegment,
  type RecordRange,
} from '@tenure/wal'
import { historyDamageOf } from '../../../log/damage.js'

export interface LogStatistics {
  readonly logId: string
  readonly directory: string
  readonly firstLsn: number
  readonly lastLsn: number
  readonly firstAt?: number | undefined
  readonly lastAt?: number | undefined
  readonly records: number
  /** Bytes of the records alone; `fileBytes` counts whole files. */
  readonly recordBytes: number
  readonly fileBytes: number
  /** Between the first and the last record. */
  readonly recordsPerSecond?: number | undefined
  readonly bytesPerRecord?: number | undefined
  readonly types: readonly TypeCount[]
  readonly openings: readonly LogOpening[]
  readonly segments: readonly SegmentStatistics[]
  readonly checkpoints: readonly NamedFile[]
  readonly gaps: readonly Gap[]
  /** Damaged history, which is not counted. */
  readonly unreadable: readonly HistoryDamage[]
  readonly quarantine: readonly NamedFile[]
}

export interface TypeCount {
  readonly type: RecordType
  readonly records: number
  readonly bytes: number
}

export interface SegmentStatistics extends ReaderSegment {
  readonly records: number
  readonly firstAt: number | undefined
  readonly lastAt: number | undefined
}

export interface NamedFile {
  readonly name: string
  readonly bytes: number
}

export async function readStatistics(
  directory: string,
  onProgress: (records: number) => void = () => {},
): Promise<LogStatistics> {
  const reader = await openReadOnly(directory)
  const { logId, firstLsn, segments, openings, gaps } = reader
  const tally = new Tally(segments)
  const unreadable: HistoryDamage[] = []
  for await (const run of readSkippingDamage(reader, unreadable)) {
    let index = 0
    for (const { lsn, record } of entriesOf(run)) {
      tally.add(lsn, record.type, record.at, run.records[index++]!.length)
    }
    onProgress(tally.records)
  }
  const checkpoints = filesIn(join(directory, 'checkpoint'))
  const fileBytes = [...segments, ...checkpoints].reduce((sum, { bytes }) => sum + bytes, 0)
  return {
    logId,
    directory,
    firstLsn,
    fileBytes,
    openings,
    gaps,
    unreadable,
    checkpoints,
    ...tally.facts(firstLsn - 1),
    quarantine: filesIn(join(directory, 'quarantine')),
  }
}

/** Yields every readable record. Skips damage that a checkpoint covers, and adds it to `unreadable`. */
async function* readSkippingDamage(
  reader: LogReader,
  unreadable: HistoryDamage[],
): AsyncGenerator<RecordRange> {
  for (let fromLsn = reader.firstLsn; ; ) {
    try {
      yield* reader.replay({ fromLsn })
      return
    } catch (error) {
      const damage = historyDamageOf(error)
      if (damage === undefined) throw error
      unreadable.push(damage)
      fromLsn = damage.lastMissingLsn + 1
    }
  }
}

/** Counts records in order. */
class Tally {
  records = 0
  readonly #types = new Map<RecordType, { records: number; bytes: number }>()
  readonly #segments: { info: ReaderSegment; records: number; firstAt: number; lastAt: number }[]
  #segment = 0
  #bytes = 0
  #lastLsn = 0

  constructor(segments: readonly ReaderSegment[]) {
    this.#segments = segments.map((info) => ({ info, records: 0, firstAt: 0, lastAt: 0 }))
  }

  add(lsn: number, type: RecordType, at: number, bytes: number): void {
    this.records++
    this.#bytes += bytes
    this.#lastLsn = lsn
    const count = this.#types.get(type)
    if (count === undefined) this.#types.set(type, { records: 1, bytes })
    else {
      count.records++
      count.bytes += bytes
    }
    while ((this.#segments[this.#segment + 1]?.info.firstLsn ?? Infinity) <= lsn) this.#segment++
    const segment = this.#segments[this.#segment]!
    if (segment.records++ === 0) segment.firstAt = at
    segment.lastAt = at
  }

  facts(lsnBefore: number) {
    const filled = this.#segments.filter(({ records }) => records > 0)
    const { firstAt } = filled[0] ?? {}
    const { lastAt } = filled.at(-1) ?? {}
    const ms = (lastAt ?? 0) - (firstAt ?? 0)
    return {
      records: this.records,
      recordBytes: this.#bytes,
      lastLsn: this.records === 0 ? lsnBefore : this.#lastLsn,
      firstAt,
      lastAt,
      recordsPerSecond: ms > 0 ? (this.records * 1000) / ms : undefined,
      bytesPerRecord: this.records > 0 ? this.#bytes / this.records : undefined,
      types: [...this.#types]
        .map(([type, count]) => ({ type, ...count }))
        .sort((a, b) => b.records - a.records || (a.type < b.type ? -1 : 1)),
      segments: this.#segments.map(({ info, records, firstAt, lastAt }) => ({
        ...info,
        records,
        firstAt: records > 0 ? firstAt : undefined,
        lastAt: records > 0 ? lastAt : undefined,
      })),
    }
  }
}

/** Empty if the directory does not exist. */
function filesIn(directory: string): NamedFile[] {
  try {
    return readdirSync(directory)
      .filter((name) => !name.endsWith('.tmp'))
      .sort()
      .map((name) => ({ name, bytes: statSync(join(directory, name)).size }))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
