import { StateMachineError } from './errors.js'
import { findIndexFaults } from './index-invariants.js'
import type { State } from './state.js'
import { findTaskFaults } from './task-invariants.js'

/**
 * Asserts what must always hold: 000 §7 and 003 §7 for every task, and that every index says what a
 * naive scan of all tasks finds. `apply` keeps it so; a state for which this throws shows a bug, or
 * a checkpoint that is not what it claims. Looks at everything, so it takes a second per million tasks.
 */
export function checkInvariants(state: State): void {
  const faults: string[] = []
  for (const fault of [findTaskFaults(state), findIndexFaults(state)].flatMap((found) => [
    ...found,
  ])) {
    faults.push(fault)
  }
  if (faults.length === 0) return
  const shown = faults.slice(0, 10).join('; ')
  const more = faults.length > 10 ? `; and ${faults.length - 10} more` : ''
  throw new StateMachineError('STATE_BROKEN', `the state is broken: ${shown}${more}`)
}
