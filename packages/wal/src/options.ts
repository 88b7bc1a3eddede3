import { randomBytes } from 'node:crypto'
import { Checks, describe } from '@tenure/options'
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

const optionNames: readonly (keyof LogOptions)[] = [
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
]

const check = new Checks((message) => new WalError('WAL_BAD_OPTION', message))

export function settle(options: LogOptions): LogSettings {
  check.names('options', options, optionNames)
  const { acceptLoss, restored } = options
  const sync = check.oneOf('options.sync', options.sync ?? 'always', syncModes)
  const syncIntervalMs = options.syncIntervalMs ?? 100
  check.whole('options.syncIntervalMs', syncIntervalMs, 1, 60_000)
  const appendBytesMax = options.appendBytesMax ?? 512 * 1024
  check.whole('options.appendBytesMax', appendBytesMax, 1024, recordBytesCeiling)
  // Whatever fits into an append must fit into the smallest segment there can be.
  const smallest = fileHeaderBytes + batchOverheadBytes + batchHeaderBytes + appendBytesMax
  const segmentBytes = options.segmentBytes ?? 64 * 1024 * 1024
  check.whole('options.segmentBytes', segmentBytes, smallest, 2 ** 32)
  if (typeof restored === 'object') {
    check.whole('options.restored.nextLsn', restored.nextLsn, 1, lsnMax)
  } else if (restored !== undefined && restored !== true) {
    throw check.refusal('options.restored', describe(restored), 'true or { nextLsn }')
  }
  if (acceptLoss !== undefined) {
    check.whole('options.acceptLoss.segment', acceptLoss.segment, 0, lsnMax)
    check.whole('options.acceptLoss.offset', acceptLoss.offset, 0, lsnMax)
  }
  const random = options.randomBytes ?? randomBytes
  return {
    sync,
    syncIntervalMs,
    segmentBytes,
    firstSegmentBytes: Math.min(segmentBytes, Math.max(firstSegmentBytes, 2 * appendBytesMax)),
    appendBytesMax,
    recordBytesMax: appendBytesMax - recordHeaderBytes,
    acceptLoss,
    restored,
    observer: options.observer ?? {},
    disk: options.disk ?? nodeDisk,
    clock: options.clock ?? systemClock,
    newLogId: () => Uint8Array.from(random(logIdBytes)),
  }
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
