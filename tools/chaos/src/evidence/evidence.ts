import { readFileSync } from 'node:fs'
import type { FaultLine } from '../faults/fault-journal.js'
import type { Acknowledgement } from '../work/acknowledged.js'
import type { Refusal } from '../work/refusals.js'
import { type CoordinatorReport, readCoordinatorReport } from './coordinator-lines.js'
import type { Metrics } from './final-answers.js'
import { readAllLines, readLines } from './lines.js'
import { type LogLeft, readLogLeft } from './log-left.js'
import type { LiveTask } from './parcels.js'
import type { Places } from './places.js'
import { type Logged, readRecords } from './record-file.js'
import type { ExecutionLine } from './worker-lines.js'
import { readWorkerLines, type WorkerLine } from './worker-lines.js'

/** May be larger than memory, so it is read once and not kept. */
type Source<T> = Iterable<T> | AsyncIterable<T>

/** The independent records of all witnesses; the checks compare them. */
export interface Evidence extends Sources, FinalState, LogLeft {
  readonly coordinator: CoordinatorReport
  readonly faults: readonly FaultLine[]
}

interface Sources {
  /** Answers to the client's submissions. */
  readonly acknowledged: Source<Acknowledgement>
  /** Lines that handlers wrote about their executions. */
  readonly executions: Source<ExecutionLine>
  /** Lines that workers wrote about their leases. */
  readonly workerLines: Source<WorkerLine>
  /** The coordinator's final list of its tasks. */
  readonly live: Source<LiveTask>
  /** The log, as copied while it was written. */
  readonly logged: Source<Logged>
}

/** Queried or counted at the end. */
export interface FinalState {
  /** The coordinator's last LSN and its counters. */
  readonly lastLsn: number
  readonly metrics: Metrics
  /** How often it was launched. */
  readonly coordinatorLives: number
  /** Number of worker processes. */
  readonly workers: number
  /** Rejected submissions. */
  readonly refusals: readonly Refusal[]
}

/** Call it only when all processes have exited. */
export async function openEvidence(places: Places): Promise<Evidence> {
  const faults: FaultLine[] = []
  for await (const line of readLines<FaultLine>(places.faults)) faults.push(line)
  return {
    ...(JSON.parse(readFileSync(places.seen, 'utf8')) as FinalState),
    ...(await readLogLeft(places.data)),
    acknowledged: readLines(places.acknowledged),
    executions: readAllLines(places.executions),
    workerLines: readWorkerLines(places.workers),
    live: readLines(places.live),
    logged: readRecords(places.records),
    coordinator: await readCoordinatorReport(places.coordinator),
    faults,
  }
}
