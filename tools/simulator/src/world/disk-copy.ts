import { recover } from '@tenure/coordinator-server/internal'
import { describeError } from '@tenure/harness'
import { History } from '@tenure/history'
import { checkInvariants, hashState, position } from '@tenure/state-machine'
import { type DiskImage, type Random, SimulatedClock, SimulatedDisk } from '@tenure/testing'
import { openLog, openReadOnly, WalError } from '@tenure/wal'
import type { Damage } from '../scenario/scenario.js'
import { holds, Violation } from '../violation.js'
import { directory, logOptions } from './coordinator-options.js'
import { damageDisk } from './damage.js'
import { drive } from './process.js'

/** The disk at the time of an answer, and the records that had been applied by then. */
export interface DiskCopy {
  readonly image: DiskImage
  readonly lsn: number
  readonly hash: string
  readonly keep: 'none' | 'all' | 'random'
  readonly random: Random
  /** Applied to the disk while it is off; the log may then refuse to open. */
  readonly damage: Damage | undefined
}

const check = 'nothing is answered before it is durable'

/**
 * Starts a coordinator after a power loss directly after the answer: every acknowledged record must
 * be there, unchanged.
 */
export function startFrom(copy: DiskCopy, startMs: number): Promise<void> {
  // A separate clock, because no time passes in the world meanwhile.
  const clock = new SimulatedClock({ startMs, soon: 'manual' })
  return drive(clock, start(copy, clock))
}

async function start(copy: DiskCopy, clock: SimulatedClock): Promise<void> {
  const { keep, random, damage } = copy
  const policy = keep === 'random' ? { random } : keep === 'all' ? 'keep-all' : 'keep-none'
  const options = { recordCalls: false, capacityBytes: Number.POSITIVE_INFINITY }
  const disk = SimulatedDisk.from(copy.image, options).powerLoss(policy)
  const isDamaged = damage !== undefined && damageDisk(disk, damage, undefined)
  const quarantined = cutSegmentsOn(disk)
  try {
    const log = await openLog(directory, { ...logOptions, disk, clock })
    const state = await recover(log)
    checkInvariants(state)
    await log.close()
    if (!isDamaged) {
      const added = cutSegmentsOn(disk).filter((path) => !quarantined.includes(path))
      holds(added.length === 0, 'only damaged files are quarantined', () => added.join(', '))
    }
    const { lastLsn } = position(state)
    holds(lastLsn >= copy.lsn, check, () => {
      return `LSN ${copy.lsn} was answered, but after a power loss the log ends at LSN ${lastLsn}`
    })
    const reader = await openReadOnly(directory, { disk, clock })
    // Fails if records before the first segment are missing.
    for await (const _ of reader.replay({ fromLsn: reader.firstLsn })) break
    const before = await new History(reader).stateAt({ until: { lsn: copy.lsn } })
    holds(hashState(before) === copy.hash, check, () => {
      return `after a power loss the state at LSN ${copy.lsn} differs`
    })
  } catch (error) {
    if (error instanceof Violation) throw error
    if (isDamaged && error instanceof WalError) return
    const message = `after a power loss directly after an answer: ${describeError(error)}`
    throw new Violation(check, message, { cause: error })
  }
}

/** Whole segments in the quarantine. */
function cutSegmentsOn(disk: SimulatedDisk): string[] {
  return disk.files().filter((path) => /\/quarantine\/.*\.wal(\.\d+)?$/.test(path))
}
