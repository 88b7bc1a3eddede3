import { setTimeout as wait } from 'node:timers/promises'

/** The task of the demonstration: waits for the number of milliseconds in the payload, or until aborted. */
export default async function work(task: {
  readonly payload: Uint8Array
  readonly attempt: number
  readonly signal: AbortSignal
}): Promise<string> {
  await wait(Number(Buffer.from(task.payload)), undefined, { signal: task.signal })
  return `done by attempt ${task.attempt}`
}
