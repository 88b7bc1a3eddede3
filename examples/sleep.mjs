import { setTimeout as sleep } from 'node:timers/promises'

// Sleeps for the number of milliseconds in the payload; stops early when the worker aborts the signal.
export default async function work({ payload, attempt, signal }) {
  await sleep(Number(Buffer.from(payload)), undefined, { signal })
  return `done by attempt ${attempt}`
}
