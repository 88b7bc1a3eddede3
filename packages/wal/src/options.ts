import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '@tenure/seams'
import type { AcceptedLoss } from './damage.js'
import type { Disk } from './disk/disk.js'
import { nodeDisk } from './disk/node-disk.js'
import { WalError } from './errors.js'

import { logIdBytes } from './format/file-header.js'
import {
  batchHeaderBytes,
  batchOverheadBytes,
  fileHeaderBytes,
  firstSegmentBytes,
  recordBytesCeiling,
  recordHeaderBytes,
} from './format/limits.js'
import { type Lsn, lsnMax } from './lsn.js'

/**
 * When an append counts as done.
 * `always`: when it is on the medium. The default, and the only mode that survives a power loss.
 * `interval`: when the operating system has it; synced every `syncIntervalMs`.
 * `none`: when the operating system has it; synced when it likes.
 */
export type SyncMode = 'always' | 'interval' | 'none'

export interface LogOptions {
  /** Default `always`. */
  readonly sync?: SyncMode | undefined
  /** For `sync: "interval"`. Default 100. */
  readonly syncIntervalMs?: number | undefined
  /** The full size of a segment. Default 64 MiB. */
  readonly segmentBytes?: number | undefined
  /** The most that one append may write, framing included; a batch is never larger. Default 512 KiB. */
  readonly appendBytesMax?: number | undefined
  /** Opens a damaged log at the price named, which has to be the place the refusal named. */
  readonly acceptLoss?: AcceptedLoss | undefined
  /**
   * Says that the directory is a copy from before and that the log went on elsewhere: it continues
   * behind a gap, at this LSN or, by the clock, beyond any that can have been issued up to now.
   */
  readonly restored?: true | { readonly nextLsn: Lsn } | undefined
  readonly observer?: LogObserver | undefined
  readonly disk?: Disk | undefined
  readonly clock?: Clock | undefined
  readonly randomBytes?: ((count: number) => Uint8Array) | undefined
}

/** The options with their defaults, checked. */
export interface LogSettings {
  readonly sync: SyncMode
  readonly syncIntervalMs: number
  readonly segmentBytes: number
  readonly firstSegmentBytes: number
  readonly appendBytesMax: number
  readonly recordBytesMax: number
  readonly acceptLoss: AcceptedLoss | undefined
  readonly restored: true | { readonly nextLsn: Lsn } | undefined
  readonly observer: LogObserver
  readonly disk: Disk
  readonly clock: Clock
  readonly newLogId: () => Uint8Array
}

const syncModes: readonly SyncMode[] = ['always', 'interval', 'none']

const optionNames: ReadonlySet<string> = new Set<keyof LogOptions>([
  'sync',
  'syncIntervalMs',
  'segmentBytes',
  'appendBytesMax',
  'acceptLoss',
  'restored',
  'observer',
  'disk',
  'clock',
  'randomBytes',
])

export function settle(options: LogOptions): LogSettings {
  for (const name of Object.keys(options)) {
    if (!optionNames.has(name)) {
      throw new WalError(
        'WAL_BAD_OPTION',
        `options.${name} is no option; there are ${[...optionNames].join(', ')}`,
      )
    }
  }
  const sync = options.sync ?? 'always'
  if (!syncModes.includes(sync)) {
    throw badOption(
      'sync',
      `"${sync}"`,
      `one of ${syncModes.map((mode) => `"${mode}"`).join(', ')}`,
    )
  }
  const appendBytesMax = integer('appendBytesMax', options.appendBytesMax, 512 * 1024, {
    min: 1024,
    max: recordBytesCeiling,
  })
  // Whatever fits into an append must fit into the smallest segment there can be.
  const smallest = fileHeaderBytes + batchOverheadBytes + batchHeaderBytes + appendBytesMax
  const segmentBytes = integer('segmentBytes', options.segmentBytes, 64 * 1024 * 1024, {
    min: smallest,
    max: 2 ** 32,
  })
  if (typeof options.restored === 'object') {
    integer('restored.nextLsn', options.restored.nextLsn, 0, { min: 1, max: lsnMax })
  } else if (options.restored !== undefined && options.restored !== true) {
    throw badOption('restored', String(options.restored), 'true or { nextLsn }')
  }
  if (options.acceptLoss !== undefined) {
    const range = { min: 0, max: lsnMax }
    integer('acceptLoss.segment', options.acceptLoss.segment, Number.NaN, range)
    integer('acceptLoss.offset', options.acceptLoss.offset, Number.NaN, range)
  }
  const random = options.randomBytes ?? randomBytes
  return {
    sync,
    syncIntervalMs: integer('syncIntervalMs', options.syncIntervalMs, 100, { min: 1, max: 60_000 }),
    segmentBytes,
    firstSegmentBytes: Math.min(segmentBytes, Math.max(firstSegmentBytes, 2 * appendBytesMax)),
    appendBytesMax,
    recordBytesMax: appendBytesMax - recordHeaderBytes,
    acceptLoss: options.acceptLoss,
    restored: options.restored,
    observer: options.observer ?? {},
    disk: options.disk ?? nodeDisk,
    clock: options.clock ?? systemClock,
    newLogId: () => Uint8Array.from(random(logIdBytes)),
  }
}

function integer(
  name: string,
  given: number | undefined,
  fallback: number,
  { min, max }: { min: number; max: number },
): number {
  const value = given ?? fallback
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value
  throw badOption(name, String(value), `a whole number from ${min} to ${max}`)
}

function badOption(name: string, got: string, expected: string): WalError {
  return new WalError('WAL_BAD_OPTION', `options.${name} is ${got}; it has to be ${expected}`)
}

/** What a log tells about its work, for metrics. Every hook is optional, and none may throw. */
export interface LogObserver {
  /** A batch is durable. */
  committed?(commit: Commit): void
  /** A new segment takes the records from here on; `durationMs` is how long commits waited, also for it to be made. */
  rolled?(roll: { readonly segment: string; readonly durationMs: number }): void
  /** The next segment is ready. */
  sparePrepared?(spare: { readonly bytes: number; readonly durationMs: number }): void
  /** The disk has no room for the next segment, or has room again. */
  spaceChanged?(isFull: boolean): void
  /** The log has ended by a failure. Nothing more will be written. */
  failed?(error: WalError): void
}

export interface Commit {
  readonly records: number
  readonly appends: number
  /** What was written, framing included. */
  readonly bytes: number
  /** From the start of the write until it was durable. */
  readonly durationMs: number
  /** Whether the event loop stood still for it. */
  readonly onLoop: boolean
}
