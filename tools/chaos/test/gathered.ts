import { apply, createState, encodeState, type LogRecord } from '@tenure/state-machine'
import { type Evidence, openEvidence } from '../src/evidence/evidence.js'
import type { Parcel } from '../src/evidence/parcels.js'
import type { Places } from '../src/evidence/places.js'
import type { Logged } from '../src/evidence/record-file.js'
import type { WorkerLine } from '../src/evidence/worker-lines.js'
import type { FaultLine } from '../src/faults/fault-journal.js'
import type { Refusal } from '../src/work/refusals.js'

/** Evidence in arrays, small enough to be read repeatedly and changed. */
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

export const reports: readonly string[] = [
  'LeaseExtended',
  'LeaseExpired',
  'TaskCompleted',
  'TaskFailed',
]

/** No fault but a disk that is full from the first completion on. */
export function fill(evidence: Gathered, refusal: Partial<Refusal>): Partial<Gathered> {
  const line = fillOf(evidence)
  const times = { firstMs: line.fromMs, lastMs: line.toMs }
  return {
    faults: [line],
    refusals: [{ reason: 'NO_SPACE', fill: 1, count: 3, ...times, ...refusal }],
  }
}

export function fillOf(evidence: Gathered): FaultLine {
  const { at } = completion(evidence).record
  return { kind: 'fill', target: 'disk', fromMs: at, toMs: at + 5000 }
}

/** A checkpoint whose LSN belongs to a record that its state does not contain. */
export function checkpointOfTooLittle({ logged }: Gathered): Partial<Gathered> {
  const state = createState()
  const { length } = logged.slice(0, 100)
  for (const { lsn, record } of logged.slice(0, length - 1)) apply(state, lsn, record)
  const chunks = [...encodeState(state)].map((chunk) => chunk.slice())
  return { checkpoints: [{ lsn: length, chunks }] }
}

export function forgetAll(evidence: Gathered): Partial<Gathered> {
  const at = lastAt(evidence)
  return append(evidence, (lsn) => ({ type: 'TasksForgotten', at, through: lsn - 1 }))
}

/**
 * Adds a start of the coordinator whose epoch and restart count are this far above the last ones.
 */
export function sayStarted(
  { coordinator }: Gathered,
  epochs: number,
  restarts: number,
): Partial<Gathered> {
  const { starts } = coordinator
  const last = starts.at(-1)!
  const next = { epoch: last.epoch + epochs, restarts: last.restarts + restarts }
  return { coordinator: { ...coordinator, starts: [...starts, next] } }
}

type Records<T extends LogRecord['type']> = Extract<LogRecord, { type: T }>

/**
 * A completion that its worker also logged as committed; a killed worker may not have logged it.
 */
export function completion({ logged, workerLines }: Gathered) {
  const told = new Set(
    workerLines.filter(({ what }) => what === 'committed').map(({ leaseId }) => leaseId),
  )
  const found = logged.find(
    ({ record }) => record.type === 'TaskCompleted' && told.has(record.leaseId),
  )
  return found as { readonly lsn: number; readonly record: Records<'TaskCompleted'> }
}

/** The grant under which the task of `completion` was completed. */
export function grantOf(evidence: Gathered): Records<'LeaseGranted'> {
  const { leaseId } = completion(evidence).record
  const { record } = evidence.logged[leaseId - 1]!
  return { ...(record as Records<'LeaseGranted'>), at: lastAt(evidence) }
}

export function created(evidence: Gathered): Records<'TaskCreated'> {
  const { record } = evidence.logged.find(({ record }) => record.type === 'TaskCreated')!
  return { ...(record as Records<'TaskCreated'>), at: lastAt(evidence) }
}

/** Raises one metric by one. */
export function countOneMore(metric: string): (evidence: Gathered) => Partial<Gathered> {
  return ({ metrics }) => ({ metrics: { ...metrics, [metric]: metrics[metric]! + 1 } })
}

export function expire(evidence: Gathered): Partial<Gathered> {
  const { lsn, record } = completion(evidence)
  const { at, taskId, leaseId } = record
  return replace(evidence, lsn, { type: 'LeaseExpired', at, taskId, leaseId, atStart: false })
}

/** The worker of `completion` writes one more line. */
export function say(evidence: Gathered, what: WorkerLine['what']): Partial<Gathered> {
  const { leaseId, taskId } = completion(evidence).record
  const { workerId: worker } = grantOf(evidence)
  const line: WorkerLine = { worker, taskId, leaseId, what, state: 'COMPLETED' }
  return { workerLines: [...evidence.workerLines, line] }
}

export function append(evidence: Gathered, make: (lsn: number) => LogRecord): Partial<Gathered> {
  return insert(evidence, evidence.logged.length, make)
}

/**
 * Inserts a record after an LSN; later records keep their LSNs, which the checks also have to find.
 */
export function insert(
  { logged }: Gathered,
  behind: number,
  make: (lsn: number) => LogRecord,
): Partial<Gathered> {
  const lsn = behind + 1
  return {
    logged: [...logged.slice(0, behind), { lsn, record: make(lsn) }, ...logged.slice(behind)],
  }
}

export function replace({ logged }: Gathered, lsn: number, record: LogRecord): Partial<Gathered> {
  return { logged: logged.map((it): Logged => (it.lsn === lsn ? { lsn, record } : it)) }
}

export function lastAt({ logged }: Gathered): number {
  return logged.at(-1)!.record.at
}
