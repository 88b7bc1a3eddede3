/** Why a task would have gone differently: what differed first. */
const changeCauses = [
  'LEASE_HELD',
  'LEASE_LOST',
  'WINDOW_HELD',
  'WINDOW_LOST',
  'RETRIES_LEFT',
  'RETRIES_USED_UP',
  'STOPPED_SOONER',
  'NOT_STOPPED',
] as const

export type ChangeCause = (typeof changeCauses)[number]

/** A task that would have gone differently. */
export interface Change {
  readonly cause: ChangeCause
  readonly taskId: number
  /** The attempt with which it began. */
  readonly attempt: number
  readonly leaseId: number
  readonly workerId: string
  /** The last sign of life, and the expiry or the report that it came to under these knobs. */
  readonly heardAt?: number
  readonly at: number
  readonly recorded: Course
  readonly underKnobs: Course
}

/** How a task went as a whole. */
export interface Course {
  readonly executions: number
  readonly leasesExpired: number
  /** Absent: it was not over. */
  readonly end?: 'COMPLETED' | 'FAILED' | 'POISONED' | 'STOPPED' | 'UNKNOWN'
}

/** All that one cause changes: what there would have been more, or less. */
export interface Difference {
  readonly cause: ChangeCause
  readonly tasks: number
  readonly executions: number
  readonly leasesExpired: number
}

/** Sums up changes by their causes, and keeps the first few of each. */
export class Changes {
  readonly #examplesMax: number
  readonly #sums = new Map<ChangeCause, { -readonly [F in keyof Difference]: Difference[F] }>()
  readonly #examples: Change[] = []

  constructor(examplesMax: number) {
    this.#examplesMax = examplesMax
  }

  add(change: Change): void {
    const { cause, recorded, underKnobs } = change
    const sum = this.#sums.get(cause) ?? { cause, tasks: 0, executions: 0, leasesExpired: 0 }
    sum.tasks++
    sum.executions += underKnobs.executions - recorded.executions
    sum.leasesExpired += underKnobs.leasesExpired - recorded.leasesExpired
    this.#sums.set(cause, sum)
    if (sum.tasks <= this.#examplesMax) this.#examples.push(change)
  }

  differences(): Difference[] {
    return changeCauses.flatMap((cause) => this.#sums.get(cause) ?? [])
  }

  examples(): Change[] {
    return [...this.#examples].sort((a, b) => a.taskId - b.taskId)
  }
}
