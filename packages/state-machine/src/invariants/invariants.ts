import { StateMachineError } from '../errors.js'
import type { State } from '../state/state.js'
import { findAttemptFaults } from './attempt-invariants.js'
import { findBlobFaults } from './blob-invariants.js'
import { findCounterFaults } from './counter-invariants.js'
import { findDueListFaults } from './due-list-invariants.js'
import { findIndexFaults } from './index-invariants.js'
import { findTaskFaults } from './task-invariants.js'

/** Maximum number of reported faults. One fault can cause many others. */
const faultsMax = 1000
const faultsShown = 10

/**
 * Checks everything that must always hold: 000 §7 and 003 §7 for every task, and that every index
 * equals the result of a scan of all tasks. `apply` preserves all of it. A violation means a bug,
 * or a checkpoint with wrong content. Takes seconds per million tasks.
 */
export function checkInvariants(state: State): void {
  const faults: string[] = []
  for (const fault of findFaults(state)) {
    faults.push(fault)
    if (faults.length === faultsMax) break
  }
  if (faults.length === 0) return
  const shown = faults.slice(0, faultsShown).join('; ')
  const hidden = faults.length - faultsShown
  const more = hidden > 0 ? `; and ${hidden}${faults.length === faultsMax ? ' or' : ''} more` : ''
  throw new StateMachineError('STATE_BROKEN', `the state is broken: ${shown}${more}`)
}

function* findFaults(state: State): Generator<string> {
  yield* findTaskFaults(state)
  yield* findAttemptFaults(state)
  yield* findBlobFaults(state)
  yield* findIndexFaults(state)
  yield* findDueListFaults(state)
  yield* findCounterFaults(state)
}
