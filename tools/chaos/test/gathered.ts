import { type Evidence, openEvidence } from '../src/evidence.js'
import type { Parcel } from '../src/parcels.js'
import type { Places } from '../src/places.js'

/** Evidence that is small enough to be looked at more than once, and changed. */
export type Gathered = Omit<Evidence, keyof Parcel> & Readonly<Parcel>

export async function gather(places: Places): Promise<Gathered> {
  const evidence = await openEvidence(places)
  return {
    ...evidence,
    acknowledged: await listOf(evidence.acknowledged),
    executions: await listOf(evidence.executions),
    workerLines: await listOf(evidence.workerLines),
    live: await listOf(evidence.live),
    logged: await listOf(evidence.logged),
  }
}

async function listOf<T>(source: Iterable<T> | AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of source) items.push(item)
  return items
}
