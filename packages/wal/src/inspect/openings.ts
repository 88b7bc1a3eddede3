import type { Lsn } from '../lsn.js'
import type { Segment } from '../recover/examine.js'

/** A writer opened the log: what it wrote begins at `firstLsn`. */
export interface LogOpening {
  /** How many times the log had been opened, this time included. */
  readonly epoch: number
  readonly firstLsn: Lsn
  /** By the writer's own clock. */
  readonly at: number
}

export function openingsOf(segments: readonly Segment[]): LogOpening[] {
  const isOpening = ({ header }: Segment, before: Segment | undefined) =>
    before === undefined ? header.previous.sequence === 0 : header.epoch !== before.header.epoch
  return segments
    .filter((segment, index) => isOpening(segment, segments[index - 1]))
    .map(({ header: { epoch, firstLsn, clockMs: at } }) => ({ epoch, firstLsn, at }))
}
