import type { RecordOf } from '@tenure/state-machine'
import type { Entry } from '../follow/entry.js'
import { omitUndefined } from '../omit-undefined.js'
import { explainAttempts, marginsOf } from './attempts.js'
import { coordinatorStarts } from './coordinator-starts.js'
import { tellCancelled, tellEnd, whoOf } from './ends.js'
import type { Cause, ExplainedAttempt, ExplainedEvent, Overlap } from './explanation.js'
import type { KnownAttempt } from './known-attempts.js'
import type { KnownTask } from './known-task.js'
import { findOverlaps } from './overlaps.js'
import { counted, moment, span } from './words.js'

/** All events in order. Remembered ones precede those with records. */
export function tellEvents(task: KnownTask, causes: readonly Cause[]): ExplainedEvent[] {
  const teller = new Teller(task, causes)
  const recorded = task.entries.flatMap((entry) => teller.tell(entry))
  const starts = teller.starts(recorded.at(-1))
  const placed = [...recorded, ...starts].sort(byPlace)
  return [...teller.remembered(), ...placed.map(({ place: _, ...event }) => event)]
}

type Placed = ExplainedEvent & { readonly place: number }
/** An event without its place in time. */
type Told = Omit<ExplainedEvent, 'lsn' | 'at'>

/** A coordinator starts before the first record that it writes. */
function byPlace(a: Placed, b: Placed): number {
  return a.place - b.place
}

function byLater(overlaps: readonly Overlap[]): Map<number, Overlap[]> {
  const found = new Map<number, Overlap[]>()
  for (const overlap of overlaps) {
    const [, later] = overlap.leaseIds
    found.set(later, [...(found.get(later) ?? []), overlap])
  }
  return found
}

function whyAgain({ kind, because }: Cause): string {
  return kind === 'NOT_KNOWN' ? `again; ${because}` : `again because ${because}`
}

class Teller {
  readonly #task: KnownTask
  readonly #causes: ReadonlyMap<number | undefined, Cause>
  readonly #overlaps: ReadonlyMap<number, readonly Overlap[]>
  readonly #explained: ReadonlyMap<number, ExplainedAttempt>
  readonly #known: ReadonlyMap<number, KnownAttempt>

  constructor(task: KnownTask, causes: readonly Cause[]) {
    this.#task = task
    this.#causes = new Map(causes.map((cause) => [cause.attempt, cause]))
    this.#overlaps = byLater(findOverlaps(task))
    this.#known = new Map(task.attempts.map((own) => [own.leaseId, own]))
    this.#explained = new Map(explainAttempts(task).map((own) => [own.leaseId, own]))
  }

  tell({ lsn, record }: Entry): Placed[] {
    const place = { lsn, at: record.at, place: lsn }
    switch (record.type) {
      case 'TaskCreated':
        return [{ ...place, ...this.#created() }]
      case 'LeaseGranted':
        return [{ ...place, ...this.#granted(this.#known.get(record.leaseId)!) }]
      case 'LeaseExtended':
        return this.#extended(record.leaseId, place)
      case 'LeaseExpired':
      case 'TaskCompleted':
      case 'TaskFailed':
        return [{ ...place, ...tellEnd(this.#task, this.#known.get(record.leaseId)!) }]
      case 'TaskCancelled':
        return [{ ...place, ...tellCancelled(this.#task, this.#known.get(record.leaseId)!) }]
      case 'TaskDead':
        return [{ ...place, ...this.#stopped(record.reason) }]
      case 'TasksForgotten':
        return this.#isOver() ? [{ ...place, ...this.#forgotten(record) }] : []
    }
  }

  /** A start after the end of the task does not concern it. */
  starts(last: Placed | undefined): Placed[] {
    const until = this.#isOver() ? (last?.place ?? 0) : Number.POSITIVE_INFINITY
    return coordinatorStarts(this.#task)
      .filter(({ firstLsn }) => firstLsn <= until)
      .map(({ epoch, firstLsn, at, downMsMax, isByOwnRecords }) =>
        omitUndefined<Placed>({
          place: firstLsn - 0.5,
          at,
          kind: 'COORDINATOR_STARTED',
          what: `a coordinator started (epoch ${epoch})`,
          why:
            downMsMax === undefined
              ? undefined
              : `no coordinator ran for up to ${span(downMsMax)}: nothing${isByOwnRecords ? ' about this task' : ''} was recorded in that time`,
        }),
      )
  }

  /** Events without records: the task, its attempts, and their ends. */
  remembered(): ExplainedEvent[] {
    const { created, attempts, death, taskId, entries } = this.#task
    const remembered = true as const
    const events: ExplainedEvent[] = []
    if (created?.isRemembered) {
      events.push({ lsn: taskId, at: created.at, ...this.#created(), remembered })
    }
    for (const own of attempts) {
      if (!own.isRemembered || own.grantedAt === undefined) continue
      const at = own.grantedAt
      events.push({ lsn: own.leaseId, at, ...this.#granted(own), remembered })
      const { end } = own
      if (end === undefined || end.lsn !== undefined || end.outcome === 'DEAD') continue
      events.push({ at: end.at, ...tellEnd(this.#task, own), remembered })
    }
    const isRecorded = entries.some(({ record }) => record.type === 'TaskDead')
    if (death === undefined || isRecorded) return events
    const { at, reason, lsn } = death
    events.push(omitUndefined<ExplainedEvent>({ lsn, at, ...this.#stopped(reason), remembered }))
    return events
  }

  #isOver(): boolean {
    const { state } = this.#task
    return state === 'COMPLETED' || state === 'FAILED' || state === 'DEAD'
  }

  #created() {
    const { queue, notBefore, requestId, executionWindowMs, retryPolicy } = this.#task.created!
    const notes = [
      ...(notBefore === undefined ? [] : [`not before ${moment(notBefore)}`]),
      `execution window ${span(executionWindowMs)}, ${counted(retryPolicy.maxRetries, 'retry', 'retries')}`,
    ]
    const name = requestId === undefined ? '' : ` under request id ${requestId}`
    return {
      kind: 'SUBMITTED' as const,
      what: `submitted to queue ${queue}`,
      why: `a client asked for it${name}`,
      notes,
    }
  }

  #granted(own: KnownAttempt) {
    const { firstExpiry, leaseExpiry, grantedAt, end, workerId, isRemembered } = own
    const { waitedMs } = this.#explained.get(own.leaseId)!
    const cause = this.#causes.get(own.attempt)
    const until = firstExpiry ?? (end === undefined ? leaseExpiry : undefined)
    const good =
      until === undefined
        ? []
        : isRemembered
          ? [`good until ${moment(until)}, including extensions`]
          : [`good for ${span(until - grantedAt!)}, until ${moment(until)}`]
    const notes = [
      ...(waitedMs === undefined ? [] : [`the task had waited ${span(waitedMs)} for a worker`]),
      ...(cause === undefined ? [] : [whyAgain(cause)]),
      ...this.#beside(own),
    ]
    return omitUndefined<Told>({
      kind: 'LEASED',
      ...whoOf(own),
      what: [`lease ${own.leaseId} granted`, ...good].join(', '),
      why: `worker ${workerId ?? 'unknown'} asked for a task`,
      notes: notes.length > 0 ? notes : undefined,
    })
  }

  #beside({ leaseId }: KnownAttempt): string[] {
    const own = this.#overlaps.get(leaseId) ?? []
    return own.map(({ leaseIds: [earlier], ms, certain }) => {
      const { attempt, workerId } = this.#known.get(earlier)!
      const which = attempt === undefined ? `lease ${earlier}` : `attempt ${attempt}`
      if (certain) {
        const length = ms === undefined ? '' : ` for ${span(ms)}`
        return `it overlapped with ${which}${length}: that one reported only later`
      }
      const whose = workerId === undefined ? 'its worker' : `worker ${workerId}`
      return `it may have overlapped with ${which}: the log does not show when ${whose} stopped`
    })
  }

  /** All heartbeats of a lease are one event, at the place of the last one. */
  #extended(leaseId: number, place: { lsn: number; at: number; place: number }): Placed[] {
    const own = this.#known.get(leaseId)
    if (own?.heartbeats.at(-1)?.lsn !== place.lsn) return []
    const { heartbeats, leaseExpiry } = own
    const margins = marginsOf(own)
    const first = heartbeats[0]!
    const count = counted(heartbeats.length, 'heartbeat', 'heartbeats')
    const notes = [
      ...(heartbeats.length > 1 ? [`the first one at ${moment(first.at)}`] : []),
      ...(margins.length > 0
        ? [`the closest one ${span(margins.reduce((a, b) => Math.min(a, b)))} before the expiry`]
        : []),
      ...(own.isRemembered ? ['earlier ones may be in records that were removed'] : []),
    ]
    return [
      omitUndefined<Placed>({
        ...place,
        kind: 'HEARTBEATS',
        ...whoOf(own),
        what: `${count}, lease ${leaseId} good until ${moment(leaseExpiry!)}`,
        why: `worker ${own.workerId ?? 'unknown'} sent a heartbeat`,
        notes: notes.length > 0 ? notes : undefined,
      }),
    ]
  }

  #stopped(reason: string) {
    const { attempts } = this.#task
    const last = attempts.at(-1)
    const isUnder = last?.end?.outcome === 'DEAD'
    return omitUndefined<Told>({
      kind: 'DEAD',
      ...(isUnder && whoOf(last)),
      what: isUnder ? `stopped for good under lease ${last.leaseId}` : 'stopped for good',
      why: reason === '' ? 'no reason was given' : `reason: ${reason}`,
      notes: isUnder ? ['its worker is told at its next heartbeat or report'] : undefined,
    })
  }

  #forgotten({ through }: RecordOf<'TasksForgotten'>) {
    return {
      kind: 'FORGOTTEN' as const,
      what: 'forgotten by the coordinator',
      why: `its retention time ended, like that of all tasks that had ended up to LSN ${through}`,
    }
  }
}
