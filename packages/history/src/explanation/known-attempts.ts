import type { RecordOf } from '@tenure/state-machine'
import { omitUndefined } from '../omit-undefined.js'
import {
  type AttemptEnd,
  AttemptTracker,
  type TrackedAttempt,
  type TrackedHeartbeat,
} from '../task/attempts.js'
import type { RememberedAttempt, RememberedTask } from '../task/remembered.js'
import type { TaskHistory } from '../task/task-history.js'
import type { ExplainedEnd } from './explanation.js'

/** An attempt, merged from its records and the memory. */
export interface KnownAttempt {
  readonly attempt: number | undefined
  readonly leaseId: number
  readonly workerId: string | undefined
  readonly grantedAt: number | undefined
  /** As granted. Absent if that record was removed. */
  readonly firstExpiry: number | undefined
  /** Including extensions. */
  readonly leaseExpiry: number | undefined
  /** Heartbeats that have records. */
  readonly heartbeats: readonly TrackedHeartbeat[]
  readonly end: ExplainedEnd | undefined
  readonly lateReport: { readonly lsn?: number; readonly at?: number } | undefined
  /** The record of its grant was removed. */
  readonly isRemembered: boolean
}

/** Attempts whose grant was removed come from the memory and precede the others. */
export function knownAttempts({ taskId, entries, remembered }: TaskHistory): KnownAttempt[] {
  const known = remembered?.attempts.map(({ leaseId }) => leaseId) ?? []
  const granted = new Set(
    entries.flatMap(({ record }) => (record.type === 'LeaseGranted' ? [record.leaseId] : [])),
  )
  const named = entries.flatMap(({ record }) => ('leaseId' in record ? [record.leaseId] : []))
  const unseen = new Set([...known, ...named].filter((leaseId) => !granted.has(leaseId)))
  const tracker = new AttemptTracker()
  for (const leaseId of [...unseen].sort((a, b) => a - b)) {
    tracker.add({ lsn: leaseId, record: placeholder(taskId, leaseId) })
  }
  for (const entry of entries) tracker.add(entry)
  const all = [...tracker.all()]
  return all.map((attempt, index) => {
    const { leaseId } = attempt
    if (!unseen.has(leaseId)) return fromRecords(attempt)
    // If its end is recorded, the next grant is that of the next attempt.
    const next = attempt.end === undefined ? 0 : (all[index + 1]?.attempt ?? 0)
    return fromMemory(attempt, recall(remembered, leaseId), next > 0 ? next - 1 : undefined)
  })
}

/** Whether no attempt lies between the two. Attempts of a forgotten task may be missing. */
export function isNext(own: KnownAttempt, next: KnownAttempt): boolean {
  return own.attempt !== undefined && next.attempt === own.attempt + 1
}

function placeholder(taskId: number, leaseId: number): RecordOf<'LeaseGranted'> {
  const unknown = { at: 0, attempt: 0, workerId: '', leaseExpiry: 0 }
  return { type: 'LeaseGranted', taskId, leaseId, ...unknown }
}

function fromRecords(tracked: TrackedAttempt): KnownAttempt {
  const { attempt, leaseId, workerId, grantedAt, heartbeats, leaseExpiry } = tracked
  const { end, lateReport } = tracked
  return {
    attempt,
    leaseId,
    workerId,
    grantedAt,
    heartbeats,
    firstExpiry: leaseExpiry,
    leaseExpiry: heartbeats.at(-1)?.newLeaseExpiry ?? leaseExpiry,
    end,
    lateReport,
    isRemembered: false,
  }
}

interface Recalled extends RememberedAttempt {
  /** For a failure: a task remembers the reason of its last one. */
  readonly reason?: string
}

function recall(remembered: RememberedTask | undefined, leaseId: number): Recalled | undefined {
  const found = remembered?.attempts.find((attempt) => attempt.leaseId === leaseId)
  if (found === undefined || found !== remembered?.attempts.at(-1)) return found
  const { reason } = remembered
  return found.outcome === 'FAILED' && remembered.state !== 'DEAD' && reason !== undefined
    ? { ...found, reason }
    : found
}

function fromMemory(
  { leaseId, heartbeats, end: seen, lateReport }: TrackedAttempt,
  known: Recalled | undefined,
  number: number | undefined,
): KnownAttempt {
  const attempt = known?.attempt ?? number
  const expiry = heartbeats.at(-1)?.newLeaseExpiry ?? known?.leaseExpiry
  const end = endOf(known, seen)
  const late = lateReport ?? (known?.cancelled ? {} : undefined)
  return {
    leaseId,
    heartbeats,
    isRemembered: true,
    attempt,
    workerId: known?.workerId,
    grantedAt: known?.grantedAt,
    firstExpiry: undefined,
    leaseExpiry: expiry,
    end,
    lateReport: late,
  }
}

/** A record has more details, unless it stopped a task whose attempt had ended before. */
function endOf(
  known: Recalled | undefined,
  seen: AttemptEnd | undefined,
): ExplainedEnd | undefined {
  if (known === undefined || known.outcome === 'OPEN') return seen
  if (known.outcome === seen?.outcome) return seen
  const { outcome, endedAt, reportId, reason } = known
  return omitUndefined<ExplainedEnd>({
    outcome,
    at: endedAt!,
    reason,
    reportId,
  })
}
