import { createHash } from 'node:crypto'
import type { State } from '../state/state.js'
import { encodeState } from './state-codec.js'

/**
 * SHA-256 of the state, in hexadecimal. Equal for equal states on every machine, however they were
 * reached: it is taken over the encoded state, which holds what is authoritative, in an order of its
 * own, and no trace of where things stand in memory.
 */
export function hashState(state: State): string {
  const hash = createHash('sha256')
  for (const chunk of encodeState(state)) hash.update(chunk)
  return hash.digest('hex')
}
