import { randomBytes } from 'node:crypto'
import { Checks, describe } from '@tenure/options'
import { type Clock, systemClock } from '@tenure/seams'
import type { AcceptedLoss } from './damage.js'
import type { Disk } from './disk/disk.js'
import { nodeDisk } from './disk/node-disk.js'
import { WalError } from './errors.js'
import { alignDown, alignUp } from './format/bytes.js'
import { logIdBytes } from './format/file-header.js'
import {
  copySyncMsMax,
  fileHeaderBytes,
  firstSegmentBytes,
  recordBytesCeiling,
  recordHeaderBytes,
  sectorBytes,
} from './format/limits.js'
import { largestExtent } from './format/stamps.js'
import { type Lsn, lsnMax } from './lsn.js'

/**
 * When an append counts as durable.
 * `always`: when it is on the medium. The default, and the only mode that survives a power loss.
 * `interval`: when the operating system has it. A sync follows every `syncIntervalMs`.
 * `none`: when the operating system has it. The operating system decides when to sync.
 */
export type SyncMode = 'always' | 'interval' | 'none'

export interface LogOptions {
  /** Default `always`. */
  readonly sync?: SyncMode | undefined
  /** Interval between syncs for `sync: "interval"`. Default 100. */
  readonly syncIntervalMs?: number | undefined
  /** Full size of a segment, rounded down to whole sectors. Default 64 MiB. */
  readonly segmentBytes?: number | undefined
  /** Maximum bytes of one append, including framing. A batch is never larger. Default 512 KiB. */
  readonly appendBytesMax?: number | undefined
  /**
   * Opens a damaged log and gives up what follows this place, which must be the place named by the
   * error.
   */
  readonly acceptLoss?: AcceptedLoss | undefined
  /**
   * Declares that the directory is an old copy of a log that continued elsewhere. The log skips to
   * `nextLsn`, or with `true` to an LSN computed from the clock that lies after every LSN issued so
   * far.
   */
  readonly restored?: true | { readonly nextLsn: Lsn } | undefined
  /** Opens a copy of a shared log. Default: a log of its own. */
  readonly copyOf?: SharedLogIdentity | undefined
  readonly observer?: LogObserver | undefined
  readonly disk?: Disk | undefined
  readonly clock?: Clock | undefined
  readonly randomBytes?: ((count: number) => Uint8Array) | undefined
}

/** Which shared log a directory copies. */
export interface SharedLogIdentity {
  /** 32 hexadecimal digits. */
  readonly logId: string
  /** Counts how many times the shared log was begun anew under this id: 1, 2, 3 … */
  readonly era: number
}

/** Validated options with their defaults. */
export interface LogSettings {
  readonly sync: SyncMode
  readonly syncIntervalMs: number
  readonly segmentBytes: number
  readonly firstSegmentBytes: number
  readonly appendBytesMax: number
  readonly recordBytesMax: number
  readonly acceptLoss: AcceptedLoss | undefined
  readonly restored: true | { readonly nextLsn: Lsn } | undefined
  readonly copyOf: { readonly logId: Uint8Array; readonly era: number } | undefined
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
  'copyOf',
  'observer',
  'disk',
  'clock',
  'randomBytes',
]

export const check = new Checks((message) => new WalError('WAL_BAD_OPTION', message))

export function resolveOptions(options: LogOptions): LogSettings {
  check.names('options', options, optionNames)
  const { acceptLoss, restored, copyOf } = options
  if (copyOf !== undefined) refuseForCopy(options)
  const sync = check.oneOf(
    'options.sync',
    options.sync ?? (copyOf ? 'interval' : 'always'),
    syncModes,
  )
  const syncIntervalMs = options.syncIntervalMs ?? 100
  check.whole('options.syncIntervalMs', syncIntervalMs, 1, 60_000)
  const appendBytesMax = options.appendBytesMax ?? 512 * 1024
  check.whole('options.appendBytesMax', appendBytesMax, 1024, recordBytesCeiling)
  // The smallest segment must be able to take the largest append.
  const smallest = alignUp(
    fileHeaderBytes + largestExtent(appendBytesMax) + largestExtent(0),
    sectorBytes,
  )
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
  const wholeSegment = alignDown(segmentBytes, sectorBytes)
  return {
    sync,
    syncIntervalMs,
    segmentBytes: wholeSegment,
    firstSegmentBytes: Math.min(
      wholeSegment,
      Math.max(firstSegmentBytes, alignUp(2 * appendBytesMax, sectorBytes)),
    ),
    appendBytesMax,
    recordBytesMax: appendBytesMax - recordHeaderBytes,
    acceptLoss,
    restored,
    copyOf: copyOf === undefined ? undefined : checkIdentity(copyOf),
    observer: options.observer ?? {},
    disk: options.disk ?? nodeDisk,
    clock: options.clock ?? systemClock,
    newLogId: () => Uint8Array.from(random(logIdBytes)),
  }
}

/** A copy's records are in the shared log, so it is synced in the background, and never repaired. */
function refuseForCopy({ sync, acceptLoss, restored, syncIntervalMs = 0 }: LogOptions): void {
  const given = { acceptLoss, restored }
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    throw check.refusal(`options.${name}`, 'set', 'absent for a copy of a shared log')
  }
  if (sync !== undefined && sync !== 'interval') {
    throw check.refusal('options.sync', describe(sync), '"interval" for a copy of a shared log')
  }
  if (syncIntervalMs > copySyncMsMax) {
    check.whole('options.syncIntervalMs', syncIntervalMs, 1, copySyncMsMax)
  }
}

/** Checks the identity and decodes it. */
export function checkIdentity({ logId, era }: SharedLogIdentity): {
  readonly logId: Uint8Array
  readonly era: number
} {
  if (typeof logId !== 'string' || !/^[0-9a-f]{32}$/.test(logId)) {
    throw check.refusal('logId', describe(logId), '32 hexadecimal digits')
  }
  check.whole('era', era, 1, lsnMax)
  return { logId: Uint8Array.from(Buffer.from(logId, 'hex')), era }
}

/** Hooks for metrics. Every hook is optional, and none may throw. */
export interface LogObserver {
  /** A batch is durable. */
  committed?(commit: Commit): void
  /**
   * A new segment receives the records from now on. `durationMs` is how long commits waited,
   * including the wait for the segment to be prepared.
   */
  rolled?(roll: { readonly segment: string; readonly durationMs: number }): void
  /** The next segment is ready. */
  sparePrepared?(spare: { readonly bytes: number; readonly durationMs: number }): void
  /** The disk has no space for the next segment, or has space again. */
  spaceChanged?(isFull: boolean): void
  /** The log stopped after a failure. It writes nothing more. */
  failed?(error: WalError): void
}

export interface Commit {
  readonly records: number
  readonly appends: number
  /** Bytes written, including framing. */
  readonly bytes: number
  /** Time from the start of the write until it was durable. */
  readonly durationMs: number
  /** Whether the write blocked the event loop. */
  readonly onLoop: boolean
}
