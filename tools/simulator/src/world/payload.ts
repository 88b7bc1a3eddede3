import type { HandlerPlan, TaskPlan } from '../scenario/scenario.js'

interface Payload {
  readonly number: number
  readonly attempts: readonly HandlerPlan[]
}

/** A task's payload: what its handler is to do, and blanks up to the size it is to have. */
export function writePayload(number: number, { attempts, payloadBytes }: TaskPlan): Uint8Array {
  return Buffer.from(JSON.stringify({ number, attempts } satisfies Payload).padEnd(payloadBytes))
}

export function readPayload(bytes: Uint8Array): Payload {
  return JSON.parse(Buffer.from(bytes).toString()) as Payload
}

/** What a handler returns tells under which lease it ran. */
export function resultOf(leaseId: number): Uint8Array {
  return Buffer.from(`under lease ${leaseId}`)
}
