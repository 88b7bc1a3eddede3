import type { TrackedAttempt } from '@tenure/history'
import type { LogRecord } from '@tenure/state-machine'
import type { Ranking } from './ranking.js'

interface Interest {
  attempts: number
  lateReports: number
}

/**
 * Tasks that ran more than once first. Only of these something is kept: of the others, which are the
 * many, no more than can be drawn.
 */
export class TaskRanking implements Ranking {
  readonly rule = 'those that ran more than once first, by late reports, then by attempts'
  readonly #most: number
  readonly #several = new Map<number, Interest>()
  readonly #single = new Set<number>()
  /** Tasks that were there before the span began. */
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
    const best = [...this.#several].sort(byInterest).slice(0, this.#most)
    const chosen = best.map(([taskId]) => taskId)
    return new Set([...chosen, ...this.#single].slice(0, this.#most))
  }

  #see(taskId: number): void {
    if (taskId < this.#firstCreated) this.#older.add(taskId)
    if (this.#single.size < this.#most && !this.#several.has(taskId)) this.#single.add(taskId)
  }
}

function byInterest([a, first]: [number, Interest], [b, second]: [number, Interest]): number {
  return second.lateReports - first.lateReports || second.attempts - first.attempts || a - b
}
