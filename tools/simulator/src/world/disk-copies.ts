import type { Random, SimulatedDisk } from '@tenure/testing'
import { type DiskCopy, startFrom } from './disk-copy.js'
import { runRivals } from './rivals.js'
import type { Stage } from './stage.js'

/** Two concurrent coordinators take as long as several starts. */
const rivalsChance = 0.1

/** Copies of the disk at the moments of some answers. */
export class DiskCopies {
  readonly #stage: Stage
  readonly #chance: Random
  readonly #chanceOfRivals: Random
  readonly #taken: { readonly copy: DiskCopy; readonly rivals: Random | undefined }[] = []

  constructor(stage: Stage) {
    this.#stage = stage
    this.#chance = stage.randomOf('copies')
    this.#chanceOfRivals = stage.randomOf('rivals')
  }

  takeSometimes(disk: SimulatedDisk): void {
    const { scenario, ledger } = this.#stage
    const random = this.#chance
    if (random.integer(1000) >= scenario.knobs.copiesPerThousand) return
    const kind = random.pick(['flip', 'flip', 'lose'] as const)
    const damage = { kind, file: random.next(), place: random.next() }
    const copy: DiskCopy = {
      image: disk.snapshot(),
      lsn: ledger.lastLsn,
      hash: ledger.replayedHash(),
      keep: random.pick(['none', 'none', 'random', 'all'] as const),
      random: random.fork(),
      damage: random.chance(0.3) ? damage : undefined,
    }
    const chance = this.#chanceOfRivals
    this.#taken.push({ copy, rivals: chance.chance(rivalsChance) ? chance.fork() : undefined })
  }

  /**
   * Starts a coordinator from each copy after a power loss, and two concurrent ones from some
   * copies.
   */
  async startAll(): Promise<void> {
    const { clock, probes, scenario } = this.#stage
    for (const { copy, rivals } of this.#taken.splice(0)) {
      await startFrom(copy, clock.now())
      probes.reach('a coordinator started from a copy')
      if (rivals === undefined) continue
      const arena = { image: copy.image, knobs: scenario.knobs, random: rivals }
      probes.reach(`two coordinators left ${await runRivals(arena, clock.now())}`)
    }
  }
}
