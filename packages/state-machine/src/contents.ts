import { hash } from 'node:crypto'
import type { State } from './state.js'

/**
 * What a task was given and what came of it, as bytes. The input is the `request_id` and, right
 * behind it, the payload. A COMPLETED task keeps the payload's SHA-256 instead, and that only for
 * the sake of its `request_id`: to tell the same submission from another one under the same id.
 */
export function keepInput(state: State, row: number, payload: Uint8Array, requestId = ''): void {
  const { tasks, blobs } = state.authoritative
  const idBytes = requestId === '' ? 0 : Buffer.byteLength(requestId)
  const input = blobs.add(idBytes + payload.length)
  blobs.writeText(input, 0, requestId, idBytes)
  blobs.write(input, idBytes, payload)
  tasks.input.set(row, input)
  tasks.requestIdBytes.set(row, idBytes)
}

const digestBytes = 32

/** As a text of 32 one-byte units, which is what Node makes fastest. */
export function digest(payload: Uint8Array): string {
  return hash('sha256', payload, 'binary')
}

/** The payload, or its digest; a view on the state's own bytes. */
export function payloadOf({ authoritative }: State, row: number): Buffer {
  const { tasks, blobs } = authoritative
  return blobs.view(tasks.input.get(row), tasks.requestIdBytes.get(row))
}

export function requestIdOf({ authoritative }: State, row: number): string {
  const { tasks, blobs } = authoritative
  return blobs.text(tasks.input.get(row), 0, tasks.requestIdBytes.get(row))
}

export function replacePayloadByDigest(state: State, row: number): void {
  const { tasks, blobs } = state.authoritative
  const idBytes = tasks.requestIdBytes.get(row)
  const input = tasks.input.get(row)
  let reduced = 0
  if (idBytes > 0) {
    reduced = blobs.add(idBytes + digestBytes)
    blobs.copy(reduced, input, idBytes)
    blobs.writeBinary(reduced, idBytes, digest(payloadOf(state, row)))
  }
  blobs.remove(input)
  tasks.input.set(row, reduced)
}

/** Replaces what came of the task before, if anything did. */
export function keepOutcome(state: State, row: number, outcome: Uint8Array | undefined): void {
  const { tasks, blobs } = state.authoritative
  blobs.remove(tasks.outcome.get(row))
  tasks.outcome.set(row, outcome === undefined ? 0 : blobs.addBytes(outcome))
  tasks.hasOutcome.set(row, outcome === undefined ? 0 : 1)
}

/** A view on the state's own bytes. */
export function outcomeOf({ authoritative }: State, row: number): Buffer | undefined {
  const { tasks, blobs } = authoritative
  return tasks.hasOutcome.get(row) === 0 ? undefined : blobs.view(tasks.outcome.get(row))
}

export function forgetContents({ authoritative }: State, row: number): void {
  const { tasks, blobs } = authoritative
  blobs.remove(tasks.input.get(row))
  blobs.remove(tasks.outcome.get(row))
}
