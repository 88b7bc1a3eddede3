import { hash } from 'node:crypto'
import type { Blobs } from '../store/blobs.js'
import type { State } from './state.js'

/**
 * The input and the outcome of a task, as bytes. The input is the `request_id` followed by the
 * payload. A COMPLETED task with a `request_id` keeps the SHA-256 of the payload instead, to
 * recognise a repeated submission.
 *
 * Functions named `make…` may fail for lack of space. Functions named `keep…` cannot fail. A record
 * makes all its blobs before it changes anything, so that it is applied completely or not at all.
 */
export function makeInput(blobs: Blobs, payload: Uint8Array, requestId = ''): number {
  const idBytes = requestId === '' ? 0 : Buffer.byteLength(requestId)
  const input = blobs.add(idBytes + payload.length)
  blobs.writeText(input, 0, requestId, idBytes)
  blobs.write(input, idBytes, payload)
  return input
}

export function keepInput(
  { authoritative }: State,
  row: number,
  input: number,
  requestId = '',
): void {
  const { tasks } = authoritative
  tasks.input.set(row, input)
  tasks.requestIdBytes.set(row, requestId === '' ? 0 : Buffer.byteLength(requestId))
}

/** The content of a report, and the rest of the input if the task is COMPLETED. */
export interface ReportBlobs {
  outcome: number
  reportId: number
  reducedInput: number
}

export function makeReportBlobs(
  state: State,
  row: number,
  outcome: Uint8Array | undefined,
  reportId: string | undefined,
  reducesInput: boolean,
): ReportBlobs {
  const { blobs } = state.authoritative
  const made = { outcome: 0, reportId: 0, reducedInput: 0 }
  try {
    made.outcome = makeOutcome(blobs, outcome)
    if (reportId !== undefined) made.reportId = blobs.addText(reportId)
    if (reducesInput) made.reducedInput = makeReducedInput(state, row)
    return made
  } catch (error) {
    blobs.remove(made.outcome)
    blobs.remove(made.reportId)
    throw error
  }
}

export function makeOutcome(blobs: Blobs, outcome: Uint8Array | undefined): number {
  return outcome === undefined ? 0 : blobs.addBytes(outcome)
}

/** Of SHA-256. */
export const digestBytes = 32

/** As a string of 32 one-byte units, which Node creates fastest. */
export function digest(payload: Uint8Array): string {
  return hash('sha256', payload, 'binary')
}

/** The payload, or its digest. A view on the state's own bytes. */
export function payloadOf({ authoritative }: State, row: number): Buffer {
  const { tasks, blobs } = authoritative
  return blobs.view(tasks.input.get(row), tasks.requestIdBytes.get(row))
}

export function requestIdOf({ authoritative }: State, row: number): string {
  const { tasks, blobs } = authoritative
  return blobs.text(tasks.input.get(row), 0, tasks.requestIdBytes.get(row))
}

function makeReducedInput(state: State, row: number): number {
  const { tasks, blobs } = state.authoritative
  const idBytes = tasks.requestIdBytes.get(row)
  if (idBytes === 0) return 0
  const reduced = blobs.add(idBytes + digestBytes)
  blobs.copy(reduced, tasks.input.get(row), idBytes)
  blobs.writeBinary(reduced, idBytes, digest(payloadOf(state, row)))
  return reduced
}

export function keepReducedInput({ authoritative }: State, row: number, reduced: number): void {
  const { tasks, blobs } = authoritative
  blobs.remove(tasks.input.get(row))
  tasks.input.set(row, reduced)
}

/** Replaces the previous outcome of the task. An empty outcome counts as one. */
export function keepOutcome(
  { authoritative }: State,
  row: number,
  outcome: number,
  isThere: boolean,
): void {
  const { tasks, blobs } = authoritative
  blobs.remove(tasks.outcome.get(row))
  tasks.outcome.set(row, outcome)
  tasks.hasOutcome.set(row, isThere ? 1 : 0)
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
