import type { TrackedAttempt } from '@tenure/history/internal'
import type { LogRecord } from '@tenure/state-machine'

export type LanesBy = 'tasks' | 'workers'

/** Chooses the lanes to draw, in bounded memory. */
export interface Ranking {
  /** The rule in words, to follow "40 of 2,000 tasks are shown: ". */
  readonly rule: string
  /** Number of lanes to choose from. */
  readonly total: number
  /** Adds an attempt that runs within the span. */
  addAttempt(attempt: TrackedAttempt): void
  /** Adds a record within the span, with its attempt. */
  addRecord(record: LogRecord, attempt: TrackedAttempt | undefined): void
  /** The keys of the highest-ranked lanes. */
  choose(): ReadonlySet<LaneKey>
}

/** A task's id, or a worker's name. */
export type LaneKey = number | string

export function keyOf(lanesBy: LanesBy, { taskId, workerId }: TrackedAttempt): LaneKey {
  return lanesBy === 'tasks' ? taskId : workerId
}

interface TaskInterest {
  attempts: number
  lateReports: number
}

/** Ranks tasks that ran more than once first. Of the other tasks, it keeps only as many as can be drawn. */
class TaskRanking implements Ranking {
  readonly rule = 'tasks with several attempts first, by late reports, then by attempts'
  readonly #most: number
  readonly #several = new Map<number, TaskInterest>()
  readonly #single = new Set<number>()
  /** Tasks that were submitted before the span. */
  readonly #older = new Set<number>()
  #created = 0
  #firstCreated = Number.POSITIVE_INFINITY

  constructor(most: number) {
    this.#most = most
  }

  get total(): number {
    return this.#created + this.#older.size
  }

  addAttempt({ taskId, attempt }: TrackedAttempt): void {
    this.#see(taskId)
    if (attempt < 2) return
    const interest = this.#several.get(taskId)
    if (interest === undefined) this.#several.set(taskId, { attempts: attempt, lateReports: 0 })
    else interest.attempts = Math.max(interest.attempts, attempt)
    this.#single.delete(taskId)
  }

  addRecord(record: LogRecord): void {
    if (record.type === 'TaskCreated') {
      this.#created++
      this.#firstCreated = Math.min(this.#firstCreated, record.taskId)
    }
    if (!('taskId' in record)) return
    this.#see(record.taskId)
    if (record.type !== 'TaskCancelled') return
    const interest = this.#several.get(record.taskId)
    if (interest !== undefined) interest.lateReports++
  }

  choose(): ReadonlySet<number> {
    const best = [...this.#several].sort(byLateReports).slice(0, this.#most)
    const chosen = best.map(([taskId]) => taskId)
    return new Set([...chosen, ...this.#single].slice(0, this.#most))
  }

  #see(taskId: number): void {
    if (taskId < this.#firstCreated) this.#older.add(taskId)
    if (this.#single.size < this.#most && !this.#several.has(taskId)) this.#single.add(taskId)
  }
}

function byLateReports(
  [a, first]: [number, TaskInterest],
  [b, second]: [number, TaskInterest],
): number {
  return second.lateReports - first.lateReports || second.attempts - first.attempts || a - b
}

interface WorkerInterest {
  attempts: number
  expired: number
}

/** Ranks workers with expired leases first. */
class WorkerRanking implements Ranking {
  readonly rule = 'by expired leases, then by attempts'
  readonly #most: number
  readonly #workers = new Map<string, WorkerInterest>()

  constructor(most: number) {
    this.#most = most
  }

  get total(): number {
    return this.#workers.size
  }

  addAttempt({ workerId }: TrackedAttempt): void {
    const interest = this.#workers.get(workerId)
    if (interest === undefined) this.#workers.set(workerId, { attempts: 1, expired: 0 })
    else interest.attempts++
  }

  addRecord(record: LogRecord, attempt: TrackedAttempt | undefined): void {
    const interest = attempt && this.#workers.get(attempt.workerId)
    if (interest !== undefined && record.type === 'LeaseExpired') interest.expired++
  }

  choose(): ReadonlySet<string> {
    const best = [...this.#workers].sort(byExpiries).slice(0, this.#most)
    return new Set(best.map(([workerId]) => workerId))
  }
}

function byExpiries(
  [a, first]: [string, WorkerInterest],
  [b, second]: [string, WorkerInterest],
): number {
  return second.expired - first.expired || second.attempts - first.attempts || (a < b ? -1 : 1)
}

export function createRanking(lanesBy: LanesBy, most: number): Ranking {
  return lanesBy === 'tasks' ? new TaskRanking(most) : new WorkerRanking(most)
}
