import { readFileSync } from 'node:fs'
import type { FaultLine } from '../faults/fault-journal.js'
import type { Acknowledgement } from '../work/acknowledged.js'
import type { Refusal } from '../work/refusals.js'
import { type CoordinatorStory, readCoordinatorStory } from './coordinator-lines.js'
import type { Metrics } from './last-look.js'
import { readAllLines, readLines } from './lines.js'
import { type LogLeft, readLogLeft } from './log-left.js'
import type { LiveTask } from './parcels.js'
import type { Places } from './places.js'
import { type Logged, readRecords } from './record-file.js'
import type { ExecutionLine } from './worker-lines.js'
import { readWorkerLines, type WorkerLine } from './worker-lines.js'

/** There may be more of it than fits into the memory: it is gone through once, and forgotten. */
type Source<T> = Iterable<T> | AsyncIterable<T>

/** Everything that somebody has seen, each by itself: what is checked is that it fits together. */
export interface Evidence extends Sources, Seen, LogLeft {
  readonly coordinator: CoordinatorStory
  readonly faults: readonly FaultLine[]
}

interface Sources {
  /** What the client was told of its submissions. */
  readonly acknowledged: Source<Acknowledgement>
  /** What handlers wrote about their executions. */
  readonly executions: Source<ExecutionLine>
  /** What workers wrote about their leases. */
  readonly workerLines: Source<WorkerLine>
  /** What the coordinator said at last about its tasks. */
  readonly live: Source<LiveTask>
  /** The log, as it was copied while it was written. */
  readonly logged: Source<Logged>
}

/** What was asked, or counted, at the end. */
export interface Seen {
  /** Of the coordinator: where its log ended, and its counters. */
  readonly lastLsn: number
  readonly metrics: Metrics
  /** How often it was launched. */
  readonly coordinatorLives: number
  /** How many processes work. */
  readonly workers: number
  /** Of submissions. */
  readonly refusals: readonly Refusal[]
}

/** To be called when nothing runs any more. */
export async function openEvidence(places: Places): Promise<Evidence> {
  const faults: FaultLine[] = []
  for await (const line of readLines<FaultLine>(places.faults)) faults.push(line)
  return {
    ...(JSON.parse(readFileSync(places.seen, 'utf8')) as Seen),
    ...(await readLogLeft(places.data)),
    acknowledged: readLines(places.acknowledged),
    executions: readAllLines(places.executions),
    workerLines: readWorkerLines(places.workers),
    live: readLines(places.live),
    logged: readRecords(places.records),
    coordinator: await readCoordinatorStory(places.coordinator),
    faults,
  }
}
