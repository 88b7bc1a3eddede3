import type { SimulatedClock } from '@tenure/testing'
import type { CheckpointMaker, MadeCheckpoint } from '../src/checkpoints/checkpoint-maker.js'
import type { CheckpointedLog, Removed } from '../src/checkpoints/checkpointed-log.js'

interface Segment {
  readonly firstLsn: number
  readonly bytes: number
  readonly begunAt: number
  usedBytes: number
  lastLsn: number
}

/** A growing log without the contents of its files. */
export class GrowingLog implements CheckpointedLog {
  readonly gaps = []
  readonly checkpoints: number[] = []
  onRolled = () => {}
  readonly #segmentBytes: number
  readonly #clock: SimulatedClock
  readonly #segments: Segment[]

  constructor(segmentBytes: number, clock: SimulatedClock) {
    this.#segmentBytes = segmentBytes
    this.#clock = clock
    this.#segments = [this.#segmentAt(1)]
  }

  get segments(): readonly Segment[] {
    return this.#segments
  }

  get nextLsn(): number {
    return this.#segments.at(-1)!.lastLsn + 1
  }

  get sealedLsn(): number {
    return this.#segments.at(-1)!.firstLsn - 1
  }

  get checkpointLsn(): number {
    return this.checkpoints[0] ?? 0
  }

  /** Includes the preallocated next segment. */
  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, this.#segmentBytes)
  }

  append(records: number, recordBytes: number): void {
    for (let record = 0; record < records; record++) {
      const current = this.#segments.at(-1)!
      if (current.usedBytes + recordBytes > current.bytes) this.#roll()
      const segment = this.#segments.at(-1)!
      segment.usedBytes += recordBytes
      segment.lastLsn++
    }
  }

  async roll(): Promise<void> {
    if (this.nextLsn > this.sealedLsn + 1) this.#roll()
  }

  async writeCheckpoint(lsn: number): Promise<void> {
    this.checkpoints.splice(0, Number.POSITIVE_INFINITY, lsn, ...this.checkpoints.slice(0, 1))
  }

  async truncate({ keepFromLsn }: { readonly keepFromLsn: number }): Promise<Removed> {
    const [, older = 0] = this.checkpoints
    const through = Math.min(older, keepFromLsn - 1)
    const kept = this.#segments.findIndex(({ lastLsn }) => lastLsn > through)
    const last = this.#segments.length - 1
    const removed = this.#segments.splice(0, kept === -1 ? last : kept)
    const bytes = removed.reduce((sum, segment) => sum + segment.bytes, 0)
    return { segments: removed.length, bytes, checkpoints: 0 }
  }

  #roll(): void {
    this.#segments.push(this.#segmentAt(this.nextLsn))
    this.onRolled()
  }

  #segmentAt(firstLsn: number): Segment {
    const bytes = this.#segmentBytes
    return { firstLsn, bytes, begunAt: this.#clock.now(), usedBytes: 512, lastLsn: firstLsn - 1 }
  }
}

/**
 * Makes checkpoints of such a log on a machine without idle cores: a checkpoint only progresses after it has
 * been hurried for a second.
 */
export class SlowMaker implements CheckpointMaker {
  readonly #log: GrowingLog
  readonly #workMsOf: (lsn: number) => number
  #tookMs = 0
  #leftMs = 0
  #hurriedMs: number | undefined
  #finish: (() => void) | undefined

  constructor(log: GrowingLog, workMsOf: (lsn: number) => number) {
    this.#log = log
    this.#workMsOf = workMsOf
  }

  make(lsn: number): Promise<MadeCheckpoint> {
    this.#tookMs = this.#workMsOf(lsn)
    this.#leftMs = this.#tookMs
    this.#hurriedMs = undefined
    return new Promise((resolve) => {
      this.#finish = () => {
        this.#finish = undefined
        const good = [lsn, ...this.#log.checkpoints]
        this.#log.checkpoints.splice(0, Number.POSITIVE_INFINITY, ...good.slice(0, 2))
        resolve({ lsn, good, replayed: 0, replayMs: this.#tookMs, writeMs: 0 })
      }
    })
  }

  hurry(): void {
    this.#hurriedMs ??= 0
  }

  async stop(): Promise<void> {}

  pass(ms: number): void {
    if (this.#hurriedMs === undefined) return
    this.#hurriedMs += ms
    if (this.#hurriedMs <= 1000) return
    this.#leftMs -= ms
    if (this.#leftMs <= 0) this.#finish?.()
  }
}
