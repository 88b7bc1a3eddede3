import { setTimeout as sleep } from 'node:timers/promises'

// Takes as many milliseconds as the payload says, unless it is told to end before.
export default async function work({ payload, attempt, signal }) {
  await sleep(Number(Buffer.from(payload)), undefined, { signal })
  return `done by attempt ${attempt}`
}
