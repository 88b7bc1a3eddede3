import type { SimulatedClock } from '@tenure/testing'
import { Violation } from '../violation.js'

/** Lets time pass until the work is done; work that waits for nothing at all is never done. */
export async function drive<T>(clock: SimulatedClock, work: Promise<T>): Promise<T> {
  let isDone = false
  const noted = work.finally(() => {
    isDone = true
  })
  noted.catch(() => {})
  await clock.settle()
  while (!isDone) {
    if (await clock.advanceToNextTimer()) continue
    throw new Violation('what is begun comes to an end', 'it waits, and for nothing')
  }
  return noted
}
