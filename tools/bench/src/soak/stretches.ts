import { Latencies } from '../load/latencies.js'
import type { Kind } from './load.js'

export const kinds: readonly Kind[] = ['submit', 'lease', 'heartbeat', 'complete']

export type Phase = 'quiet' | 'checkpoint'

type ByKind = Readonly<Record<Kind, Latencies>>

/**
 * Latencies of each checkpoint, and of each time between two, apart. A second in which the machine's
 * disk stands still belongs to one of them, and not to all that half an hour has of its kind.
 */
export class Stretches {
  readonly #before: Record<Phase, ByKind[]> = { quiet: [], checkpoint: [] }
  readonly #all: Record<Phase, ByKind> = { quiet: byKind(), checkpoint: byKind() }
  #phase: Phase = 'quiet'
  #now = byKind()

  get checkpoints(): number {
    return this.#before.checkpoint.length
  }

  /** What comes from now on belongs to the next one. */
  begin(phase: Phase): void {
    this.#before[this.#phase].push(this.#now)
    this.#phase = phase
    this.#now = byKind()
  }

  add(kind: Kind, ms: number): void {
    this.#now[kind].add(ms)
    this.#all[this.#phase][kind].add(ms)
  }

  /** Of each that has ended, and had enough of them to have one. */
  p99s(phase: Phase, kind: Kind): number[] {
    const enough = this.#before[phase].filter((stretch) => stretch[kind].count >= leastCount)
    return enough.map((stretch) => stretch[kind].quantile(0.99))
  }

  /** Over all of them. */
  p99(phase: Phase, kind: Kind): number {
    return this.#all[phase][kind].quantile(0.99)
  }
}

/** With fewer the 99th of a hundred is one or two of them. */
const leastCount = 200

function byKind(): ByKind {
  const [submit, lease, heartbeat, complete] = kinds.map(() => new Latencies())
  return { submit: submit!, lease: lease!, heartbeat: heartbeat!, complete: complete! }
}
