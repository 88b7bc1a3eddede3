import type { Random, SimulatedDisk } from '@tenure/testing'
import { type DiskCopy, startFrom } from './disk-copy.js'
import type { Stage } from './stage.js'

/** Copies of the disk from moments at which somebody was answered. */
export class DiskCopies {
  readonly #stage: Stage
  readonly #chance: Random
  readonly #taken: DiskCopy[] = []

  constructor(stage: Stage) {
    this.#stage = stage
    this.#chance = stage.randomOf('copies')
  }

  takeSometimes(disk: SimulatedDisk): void {
    const { scenario, ledger } = this.#stage
    const random = this.#chance
    if (random.integer(1000) >= scenario.knobs.copiesPerThousand) return
    const kind = random.pick(['flip', 'flip', 'lose'] as const)
    const damage = { kind, file: random.next(), place: random.next() }
    this.#taken.push({
      ...{ image: disk.snapshot(), lsn: ledger.lastLsn, hash: ledger.replayedHash() },
      ...{ keep: random.pick(['none', 'none', 'random', 'all'] as const), random: random.fork() },
      damage: random.chance(0.3) ? damage : undefined,
    })
  }

  /** Loses power on every one of them, and starts from it. */
  async startAll(): Promise<void> {
    for (const copy of this.#taken.splice(0)) {
      await startFrom(copy, this.#stage.clock.now())
      this.#stage.probes.reach('a copy was started from')
    }
  }
}
