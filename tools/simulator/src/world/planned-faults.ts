import type { CoordinatorErrorCode } from '@tenure/coordinator-server'
import type { PlannedFault } from '@tenure/testing'
import { WalError, type WalErrorCode } from '@tenure/wal'
import type { DiskCalls, DiskError, SyncModel } from '../scenario/scenario.js'
import { codeOf } from '../violation.js'

/** The kinds of disk faults. */
export type FaultKind =
  | `${DiskError} at ${DiskCalls}`
  | `failed sync: ${SyncModel}`
  | 'short write'
  | 'end at call'

/** The general condition of a disk can be a reason, too. */
type Reason = FaultKind | 'damage' | 'no room'

type ErrorCode = WalErrorCode | CoordinatorErrorCode | DiskError | 'ENOENT' | 'CRASHED' | 'KILLED'

const broken: readonly ErrorCode[] = ['EIO']
/** Unreadable data may look like damage. */
const unreadable: readonly ErrorCode[] = ['EIO', 'WAL_CORRUPT', 'WAL_AMBIGUOUS']
/** The coordinator does not start if it cannot write the expiry of leases. */
const full: readonly ErrorCode[] = ['ENOSPC', 'WAL_NO_SPACE', 'COORDINATOR_FAILED']
/** Undoes everything that the sync would have made durable, names included. */
const reverting: readonly ErrorCode[] = ['EIO', 'ENOENT']
/**
 * `WAL_FAILED`: data that was only in memory when the log was opened disappears before it is
 * rewritten.
 */
const forgetful: readonly ErrorCode[] = ['EIO', 'WAL_FAILED']

/** The errors that each reason may cause. `WAL_FAILED` is judged by its cause. */
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
  // Another call writes the rest.
  'short write': [],
  // A process that has been ended may still report its own end.
  'end at call': ['CRASHED', 'KILLED'],
  damage: ['WAL_CORRUPT', 'WAL_AMBIGUOUS', 'WAL_BAD_CHECKPOINT'],
  'no room': full,
}

/** Whether a damaged log may refuse to open with this error. */
export function isRefusal(error: unknown): boolean {
  return error instanceof WalError && isAmong(mayCause.damage, error)
}

/** The faults of a disk since its power came on, and the errors that they explain. */
export class PlannedFaults {
  readonly #faults: { readonly kind: FaultKind; readonly fault: PlannedFault }[] = []

  add(kind: FaultKind, fault: PlannedFault): void {
    this.#faults.push({ kind, fault })
  }

  /** The kinds of the faults that have struck, once for each strike. */
  get struck(): FaultKind[] {
    return this.#faults.flatMap(({ kind, fault }) => Array<FaultKind>(fault.hits).fill(kind))
  }

  /** The disk has claimed a sync that it did not make. */
  get isLying(): boolean {
    return this.struck.includes('failed sync: late')
  }

  /** Data of a claimed sync is gone from memory, too, because a later sync failed. */
  get hasLieShown(): boolean {
    return this.isLying && this.struck.includes('failed sync: reverted')
  }

  /** Whether a fault of this disk explains the error. */
  explain(
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

/** The original cause, if the log reports its own failure. */
function originOf(error: unknown): unknown {
  const isTold = error instanceof WalError && error.code === 'WAL_FAILED'
  return isTold && error.cause !== undefined ? error.cause : error
}

function isAmong(codes: readonly string[], error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && codes.includes(code)
}
