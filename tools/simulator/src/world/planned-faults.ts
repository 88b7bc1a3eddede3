import type { CoordinatorErrorCode } from '@tenure/coordinator-server'
import type { PlannedFault } from '@tenure/testing'
import { WalError, type WalErrorCode } from '@tenure/wal'
import type { DiskCalls, DiskError, SyncModel } from '../scenario/scenario.js'
import { codeOf } from '../violation.js'

/** What a disk can be told to do wrong. */
export type FaultKind =
  | `${DiskError} at ${DiskCalls}`
  | `failed sync: ${SyncModel}`
  | 'short write'
  | 'end at call'

/** The whole condition of a disk can be a reason, too. */
type Reason = FaultKind | 'damage' | 'no room'

type ErrorCode = WalErrorCode | CoordinatorErrorCode | DiskError | 'ENOENT' | 'CRASHED' | 'KILLED'

const broken: readonly ErrorCode[] = ['EIO']
/** What cannot be read may pass for damage. */
const unreadable: readonly ErrorCode[] = ['EIO', 'WAL_CORRUPT', 'WAL_AMBIGUOUS']
/** The coordinator does not start when it cannot write down which leases have expired. */
const full: readonly ErrorCode[] = ['ENOSPC', 'WAL_NO_SPACE', 'COORDINATOR_FAILED']
/** What a sync would have made durable is taken back: names, too. */
const reverting: readonly ErrorCode[] = ['EIO', 'ENOENT']
/** `WAL_FAILED`: what was there in memory only when the log was opened goes before it is written again. */
const forgetful: readonly ErrorCode[] = ['EIO', 'WAL_FAILED']

/** By what errors each may show. `WAL_FAILED` is judged by what made the log fail. */
const mayCause: { readonly [R in Reason]: readonly ErrorCode[] } = {
  'EIO at write': broken,
  'EIO at sync': broken,
  'EIO at open': unreadable,
  'EIO at read': [...unreadable, 'WAL_BAD_CHECKPOINT'],
  'EIO at rename': broken,
  'EIO at any': [...unreadable, 'WAL_BAD_CHECKPOINT'],
  'ENOSPC at write': full,
  'ENOSPC at sync': full,
  'ENOSPC at open': full,
  'ENOSPC at read': [],
  'ENOSPC at rename': full,
  'ENOSPC at any': full,
  'failed sync: clean-page': forgetful,
  'failed sync: reverted': reverting,
  'failed sync: late': forgetful,
  'failed sync: dead': broken,
  // The rest is written by another call.
  'short write': [],
  // Whoever was in the middle of something may still come to tell.
  'end at call': ['CRASHED', 'KILLED'],
  damage: ['WAL_CORRUPT', 'WAL_AMBIGUOUS', 'WAL_BAD_CHECKPOINT'],
  'no room': full,
}

/** Whether a log that is damaged may refuse to open with this error. */
export function isRefusal(error: unknown): boolean {
  return error instanceof WalError && isAmong(mayCause.damage, error)
}

/** The faults that a disk was given since it has power, and what they are a reason for. */
export class PlannedFaults {
  readonly #faults: { readonly kind: FaultKind; readonly fault: PlannedFault }[] = []

  add(kind: FaultKind, fault: PlannedFault): void {
    this.#faults.push({ kind, fault })
  }

  /** The kinds of those that have struck, each as often as it has. */
  get struck(): FaultKind[] {
    return this.#faults.flatMap(({ kind, fault }) => Array<FaultKind>(fault.hits).fill(kind))
  }

  /** The disk has claimed to have what it has not. */
  get isLying(): boolean {
    return this.struck.includes('failed sync: late')
  }

  /** What it has claimed to have is gone from memory, too: a sync that failed has taken it away. */
  get haveShownALie(): boolean {
    return this.isLying && this.struck.includes('failed sync: reverted')
  }

  /** Whether this error had to be expected of this disk, and is one that tells what it is. */
  areReasonFor(
    error: unknown,
    disk: { readonly isDamaged: boolean; readonly wasFull: boolean },
  ): boolean {
    const reasons: Reason[] = [...this.struck]
    if (disk.isDamaged) reasons.push('damage')
    if (disk.wasFull) reasons.push('no room')
    const origin = originOf(error)
    return reasons.some((reason) => isAmong(mayCause[reason], origin))
  }
}

/** A log that has failed says so of whatever made it fail. */
function originOf(error: unknown): unknown {
  const isTold = error instanceof WalError && error.code === 'WAL_FAILED'
  return isTold && error.cause !== undefined ? error.cause : error
}

function isAmong(codes: readonly string[], error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && codes.includes(code)
}
