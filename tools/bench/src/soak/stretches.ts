import { Latencies } from '@tenure/harness'
import type { Kind } from './load.js'

export const kinds: readonly Kind[] = ['submit', 'lease', 'heartbeat', 'complete']

export type Phase = 'quiet' | 'checkpoint'

type ByKind = Readonly<Record<Kind, Latencies>>

/**
 * Latencies of each checkpoint, and of each time between two checkpoints, kept apart. A second in
 * which the machine's disk stalls then affects one stretch, not all of the same phase.
 */
export class Stretches {
  /** The p99 of each ended stretch that had enough requests of a kind. */
  readonly #p99s: Record<Phase, Record<Kind, number[]>> = { quiet: noP99s(), checkpoint: noP99s() }
  readonly #all: Record<Phase, ByKind> = { quiet: byKind(), checkpoint: byKind() }
  #phase: Phase = 'quiet'
  readonly #now = byKind()
  #checkpoints = 0

  get checkpoints(): number {
    return this.#checkpoints
  }

  /** Starts a stretch; later latencies belong to it. */
  begin(phase: Phase): void {
    for (const kind of kinds) {
      const latencies = this.#now[kind]
      if (latencies.count >= leastCount) {
        this.#p99s[this.#phase][kind].push(latencies.quantile(0.99))
      }
      latencies.clear()
    }
    if (this.#phase === 'checkpoint') this.#checkpoints++
    this.#phase = phase
  }

  add(kind: Kind, ms: number): void {
    this.#now[kind].add(ms)
    this.#all[this.#phase][kind].add(ms)
  }

  p99s(phase: Phase, kind: Kind): readonly number[] {
    return this.#p99s[phase][kind]
  }

  /** The p99 over all stretches of a phase. */
  p99(phase: Phase, kind: Kind): number {
    return this.#all[phase][kind].quantile(0.99)
  }
}

/** With fewer requests the p99 rests on one or two of them. */
const leastCount = 200

function byKind(): ByKind {
  const [submit, lease, heartbeat, complete] = kinds.map(() => new Latencies())
  return { submit: submit!, lease: lease!, heartbeat: heartbeat!, complete: complete! }
}

function noP99s(): Record<Kind, number[]> {
  return { submit: [], lease: [], heartbeat: [], complete: [] }
}
