import { History } from '@tenure/history'
import { assessLoss, type Loss } from '@tenure/history/internal'
import { position } from '@tenure/state-machine'
import {
  type CutOff,
  type Damage,
  type Diagnosis,
  diagnoseLog,
  type HistoryDamage,
  verifyLog,
} from '@tenure/wal'
import { countByState, type TaskTotals } from '../../../log/task-totals.js'

/** How a coordinator would open a log, and the possible repairs. */
export interface Finding {
  readonly verdict: 'opens' | 'damaged' | 'broken'
  readonly logId: string
  readonly epoch: number
  /** The good records and their state. */
  readonly kept: Kept
  readonly damage?: Damage | undefined
  readonly tornTail?: string | undefined
  /** Unreadable history that a checkpoint covers; no coordinator needs it. */
  readonly historyDamage: readonly HistoryDamage[]
  /** Segments before a gap in that history. */
  readonly strandedSegments: readonly string[]
  /** Unusable checkpoints, newest first. Others, or the records, replace them. */
  readonly badCheckpoints: readonly { readonly lsn: number; readonly why: string }[]
  /** A record that breaks a rule. */
  readonly breach?: string | undefined
  /** The loss if the log continues before the damage. */
  readonly loss?: Loss | undefined
  readonly cutOff: readonly CutOff[]
  /** The value for `--accept-loss`. */
  readonly place?: string | undefined
}

interface Kept {
  readonly firstLsn: number
  readonly lsn: number
  readonly at: number
  readonly tasks: TaskTotals
}

export async function diagnose(directory: string): Promise<Finding> {
  const diagnosis = await diagnoseLog(directory)
  const { damage, tornTail, logId, epoch, cutOff } = diagnosis
  const replayed = await replay(diagnosis)
  const { breach, ...known } = replayed
  // Opening a log skips history that a checkpoint covers, and older checkpoints. The doctor checks these, too.
  const { historyDamage, strandedSegments, badCheckpoints } = await verifyLog(directory)
  const place = damage?.acceptable
  const loss =
    damage === undefined || replayed.state === undefined
      ? undefined
      : await assessLoss(replayed.state, diagnosis.salvagedBatches(), {
          lastKnownLsn: damage.lastMissingLsn,
        })
  return {
    verdict: damage !== undefined ? 'damaged' : breach !== undefined ? 'broken' : 'opens',
    logId,
    epoch,
    kept: known.kept,
    badCheckpoints,
    cutOff,
    historyDamage,
    strandedSegments,
    damage,
    tornTail,
    breach,
    loss,
    place: place && `${place.segment}:${place.offset}`,
  }
}

/** Replays the log as a coordinator does at startup. */
async function replay(diagnosis: Diagnosis) {
  const { firstLsn, lastLsn } = diagnosis
  try {
    const state = await new History(diagnosis).stateAt()
    const { lastLsn: lsn, lastAt: at } = position(state)
    return { state, kept: { firstLsn, lsn, at, tasks: countByState(state) } }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && isBreach(String(error.code)))) throw error
    const kept = { firstLsn, lsn: lastLsn, at: 0, tasks: noTasks }
    return { kept, breach: error.message }
  }
}

function isBreach(code: string): boolean {
  return /^(STATE|HISTORY)_/.test(code)
}

const noTasks: TaskTotals = { WAITING: 0, LEASED: 0, COMPLETED: 0, FAILED: 0, DEAD: 0 }
