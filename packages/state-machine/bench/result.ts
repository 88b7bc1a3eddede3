import { median } from '@tenure/harness'

export type CaseName = 'apply' | 'scale' | 'memory' | 'gc'

/** One line of the output. */
export interface Result {
  readonly case: CaseName
  readonly variant: string
  readonly recordsPerSecond?: number
  readonly costRatio?: number
  readonly bytesPerTask?: number
  readonly longestPauseMs?: number
  /** Minimum and maximum of the rounds. */
  readonly spread?: readonly [number, number]
  /** Number of rounds behind the medians. */
  readonly rounds: number
  /** Absent if there is no target. */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number }
  readonly isMet?: boolean
  /** Figures that explain the result. */
  readonly details: { readonly [name: string]: number | readonly number[] }
}

export function atLeast(least: number, got: number) {
  return { target: { atLeast: least }, isMet: got >= least }
}

export function atMost(most: number, got: number) {
  return { target: { atMost: most }, isMet: got <= most }
}

/** Rounds to four significant digits. */
export function round(value: number): number {
  return Number(value.toPrecision(4))
}

export function roundedMedian(values: readonly number[]): number {
  return round(median(values))
}

export function spreadOf(values: readonly number[]): readonly [number, number] {
  return [round(Math.min(...values)), round(Math.max(...values))]
}
