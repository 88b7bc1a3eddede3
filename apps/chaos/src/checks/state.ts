import {
  apply,
  checkInvariants,
  createState,
  encodeState,
  hashState,
  type State,
  StateDecoder,
} from '@tenure/state-machine'
import type { Case } from '../case.js'
import type { Logged } from '../log-records.js'

/** 003 §7, 000 §6: the log replays, every invariant holds, and every way to the end ends in one state. */
export function* findBrokenState({ evidence: { logged } }: Case): Generator<string> {
  const middle = Math.floor(logged.length / 2)
  try {
    const whole = createState()
    applyAll(whole, logged.slice(0, middle))
    const resumed = copyOf(whole)
    for (const state of [whole, resumed]) {
      applyAll(state, logged.slice(middle))
      checkInvariants(state)
    }
    const [one, other] = [hashState(whole), hashState(resumed)]
    if (one !== other) {
      yield `the whole log gives the state ${one}, a checkpoint at LSN ${middle} and the rest ${other}`
    }
  } catch (error) {
    yield `the log does not replay: ${String(error)}`
  }
}

function applyAll(state: State, logged: readonly Logged[]): void {
  for (const { lsn, record } of logged) apply(state, lsn, record)
}

function copyOf(state: State): State {
  const decoder = new StateDecoder()
  for (const chunk of encodeState(state)) decoder.add(chunk)
  return decoder.finish()
}
