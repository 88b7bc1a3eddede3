import type { Random, SimulatedDisk } from '@tenure/testing'
import { type DiskCopy, startFrom } from './disk-copy.js'
import { letLoose } from './rivals.js'
import type { Stage } from './stage.js'

/** Two coordinators at once take as long as several starts. */
const rivalsChance = 0.1

/** Copies of the disk from moments at which somebody was answered. */
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

  /** Loses power on every one of them and starts from it, and on some lets two start at once. */
  async startAll(): Promise<void> {
    const { clock, probes, scenario } = this.#stage
    for (const { copy, rivals } of this.#taken.splice(0)) {
      await startFrom(copy, clock.now())
      probes.reach('a copy was started from')
      if (rivals === undefined) continue
      const arena = { image: copy.image, knobs: scenario.knobs, random: rivals }
      probes.reach(`two coordinators left ${await letLoose(arena, clock.now())}`)
    }
  }
}
