/** Why a task would have gone differently: the first difference. */
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
  /** The attempt with the first difference. */
  readonly attempt: number
  readonly leaseId: number
  readonly workerId: string
  /** The last sign of life, and the expiry or accepted report under these knobs. */
  readonly heardAt?: number
  readonly at: number
  readonly recorded: Course
  readonly underKnobs: Course
}

/** The whole life of a task. */
export interface Course {
  readonly executions: number
  readonly leasesExpired: number
  /** Absent if the task had not ended. */
  readonly end?: 'COMPLETED' | 'FAILED' | 'POISONED' | 'STOPPED' | 'UNKNOWN'
}

/** The total effect of one cause: additional or avoided executions and expiries. */
export interface Difference {
  readonly cause: ChangeCause
  readonly tasks: number
  readonly executions: number
  readonly leasesExpired: number
}

/** Sums up changes by cause, and keeps the first few examples of each. */
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
