import type { CoordinatorOptions, ServerObserver } from '@tenure/coordinator-server'
import type { SharedLog } from '@tenure/shared-log'
import { hashState, type LogRecord, position, type State } from '@tenure/state-machine'
import { codeOf, holds } from '../violation.js'
import { engineLink } from './engine-link.js'
import type { LogContents } from './found.js'
import type { Process } from './process.js'
import type { SharedEngine } from './shared-engine.js'
import type { Stage } from './stage.js'

type SharedLogOptions = NonNullable<CoordinatorOptions['sharedLog']>
type CopyEnd = Awaited<ReturnType<NonNullable<SharedLogOptions['otherCopies']>>>[number]

const identity = { logId: '00112233445566778899aabbccddeeff', era: 1 }
/** Maximum time until another coordinator tells the end of its copy. */
const tellMsMax = 20

/** A coordinator's place among several, and what its lives must keep to. */
export class Membership {
  readonly address: string
  readonly #stage: Stage
  readonly #engine: SharedEngine
  readonly #others: () => readonly Membership[]
  #process: Process | undefined
  #log: SharedLog | undefined
  #end: CopyEnd = { seq: 0, chain: 0 }
  /** The epoch in which its current life leads, or 0. */
  #epoch = 0

  constructor(
    stage: Stage,
    engine: SharedEngine,
    address: string,
    others: () => readonly Membership[],
  ) {
    this.#stage = stage
    this.#engine = engine
    this.address = address
    this.#others = others
  }

  /** Begins a life. */
  join(process: Process): SharedLogOptions {
    const { memory, takeOvers } = this.#engine
    this.#process = process
    this.#epoch = 0
    this.#end = { seq: 0, chain: 0 }
    this.#log = memory.connect(this.address)
    takeOvers.begins(this.address)
    return {
      ...identity,
      log: engineLink(this.#log, process),
      address: this.address,
      ttlMs: this.#stage.scenario.sharedLog!.ttlMs,
      otherCopies: () => this.#otherCopies(),
    }
  }

  /** Its messages that are under way may still arrive. */
  leave(): void {
    this.#process = undefined
    this.#engine.takeOvers.ends(this.address)
    void this.#log?.close()
  }

  get observer(): Pick<
    ServerObserver,
    'followed' | 'leads' | 'stalled' | 'full' | 'engineTrouble'
  > {
    const { events } = this.#stage
    const process = this.#process
    const mine = (look: () => void) => {
      if (process === this.#process) this.#stage.watch(look)
    }
    return {
      followed: ({ seq }) =>
        mine(() => {
          this.#end = { seq, chain: this.#engine.chainAt(seq) }
          this.#engine.takeOvers.followed(this.address, seq)
        }),
      leads: (epoch) =>
        mine(() => {
          this.#epoch = epoch
          this.#stage.mayTell(this.#stage.ledger.lastLsn)
          events.add(`${this.address} leads epoch ${epoch}`)
        }),
      stalled: (isStalled) =>
        mine(() => this.#stage.probe('a coordinator lost its engine', isStalled)),
      full: (isFull) => mine(() => this.#stage.probe('the shared log was full', isFull)),
      engineTrouble: () => mine(() => events.add(`${this.address} has trouble with the engine`)),
    }
  }

  /** Whether the coordinator may end, or refuse to start, with this error. */
  explains(error: unknown): boolean {
    const { isLost, epoch, memory, wasFull } = this.#engine
    switch (codeOf(error)) {
      case 'LEADERSHIP_LOST':
        if (epoch > this.#epoch) this.#stage.probes.reach('a coordinator was deposed')
        return isLost || epoch > this.#epoch
      case 'LOG_LOST':
        return isLost
      case 'LOG_TRUNCATED':
        return memory.range.first > 1
      case 'COORDINATOR_FAILED':
        // Like one on a full disk: it cannot record which leases have expired.
        return wasFull
      default:
        // A new node asks the engine before it has a directory.
        return error instanceof Error && error.message === 'the engine did not answer'
    }
  }

  // After a loss there is nothing to compare with: see `SharedEngine`.

  /** A leader applies what the engine has stored, and nothing else. */
  checkApplied(lsn: number, record: LogRecord): void {
    const { ledger } = this.#stage
    if (this.#engine.isLost) return
    holds(lsn <= ledger.lastLsn, 'a coordinator decides by the shared log', () => {
      return `${this.address} applied LSN ${lsn}, and the shared log ends at ${ledger.lastLsn}`
    })
    ledger.compare(lsn, record)
    this.#stage.mayTell(lsn)
  }

  /** States at the same LSN are equal, of leaders and standbys. */
  checkState(state: State, always: boolean): void {
    const { ledger } = this.#stage
    if (this.#engine.isLost) return
    const { lastLsn } = position(state)
    holds(lastLsn <= ledger.lastLsn, 'a coordinator decides by the shared log', () => {
      return `${this.address} is at LSN ${lastLsn}, and the shared log at ${ledger.lastLsn}`
    })
    if (!always && lastLsn < ledger.lastLsn) return
    holds(hashState(state) === ledger.hashAt(lastLsn), 'the live state matches a replay', () => {
      return `${this.address} at LSN ${lastLsn}`
    })
  }

  checkCopy({ entries, lastLsn, hash, checkpointLsn }: LogContents): void {
    const { ledger } = this.#stage
    if (this.#engine.isLost) return
    holds(lastLsn <= ledger.lastLsn, 'a copy is a beginning of the shared log', () => {
      return `the copy of ${this.address} ends at LSN ${lastLsn}, the shared log at ${ledger.lastLsn}`
    })
    for (const { lsn, record } of entries) ledger.compare(lsn, record)
    holds(hash === ledger.hashAt(lastLsn), 'checkpoint and tail match a full replay', () => {
      return `${this.address} at LSN ${lastLsn}, from the checkpoint at ${checkpointLsn}`
    })
  }

  async #otherCopies(): Promise<readonly CopyEnd[]> {
    const { clock } = this.#stage
    const random = this.#stage.randomOf(`copies asked by ${this.address} at ${clock.monotonicMs()}`)
    const process = this.#process
    await new Promise<void>((resolve) => {
      clock.setTimer(random.next() * tellMsMax, () => process?.run(resolve))
    })
    return this.#others().flatMap((other) => other.#tell())
  }

  #tell(): readonly CopyEnd[] {
    const isThere = this.#process !== undefined && !this.#process.isPaused && this.#end.seq > 0
    return isThere ? [this.#end] : []
  }
}
