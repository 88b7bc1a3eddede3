import { setTimeout as wait } from 'node:timers/promises'

/** The work of the demonstration: it takes as long as the payload says, and ends when it is told to. */
export default async function work(task: {
  readonly payload: Uint8Array
  readonly attempt: number
  readonly signal: AbortSignal
}): Promise<string> {
  await wait(Number(Buffer.from(task.payload)), undefined, { signal: task.signal })
  return `done by attempt ${task.attempt}`
}
