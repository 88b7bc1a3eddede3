import { CoordinatorError } from '@tenure/coordinator-server'
import type { PlannedFault } from '@tenure/testing'
import { WalDamageError, WalError } from '@tenure/wal'
import { codeOf } from '../violation.js'

/** The faults that a disk was given since it has power, and what they are a reason for. */
export class PlannedFaults {
  readonly #faults: { readonly kind: string; readonly fault: PlannedFault }[] = []

  add(kind: string, fault: PlannedFault): void {
    this.#faults.push({ kind, fault })
  }

  /** The kinds of those that have struck, each as often as it has. */
  get struck(): string[] {
    return this.#faults.flatMap(({ kind, fault }) => Array<string>(fault.hits).fill(kind))
  }

  /** The disk has claimed to have what it has not. */
  get isLying(): boolean {
    return this.#hasStruck(/^failed sync: late$/)
  }

  /** What it has claimed to have is gone from memory, too: a sync that failed has taken it away. */
  get haveShownALie(): boolean {
    return this.isLying && this.#hasStruck(/^failed sync: reverted$/)
  }

  /** Whether this error had to be expected of this disk, and is one that tells what it is. */
  areReasonFor(
    error: unknown,
    disk: { readonly isDamaged: boolean; readonly wasFull: boolean },
  ): boolean {
    const code = codeOf(error)
    // What cannot be read may pass for damage.
    if (error instanceof WalDamageError) return disk.isDamaged || this.#hasStruck(/^EIO at/)
    if (code === 'WAL_NO_SPACE' || error instanceof CoordinatorError) return disk.wasFull
    if (error instanceof WalError || code === 'EIO') return disk.isDamaged || this.#hasStruck(/./)
    return code === 'ENOSPC' && disk.wasFull
  }

  #hasStruck(kinds: RegExp): boolean {
    return this.#faults.some(({ kind, fault }) => kinds.test(kind) && fault.hits > 0)
  }
}
