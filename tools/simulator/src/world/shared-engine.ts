import {
  type DecodedEntry,
  decodeEntry,
  type Fate,
  MemoryEngine,
  type Passage,
} from '@tenure/shared-log'
import { decodeRecord } from '@tenure/state-machine'
import type { Random } from '@tenure/testing'
import { LeaseOrder } from '../checks/order.js'
import { checkSuccession } from '../checks/succession.js'
import { TakeOvers } from '../checks/take-overs.js'
import type { SharedLogPlan } from '../scenario/scenario.js'
import { holds } from '../violation.js'
import type { Stage } from './stage.js'

/** Travel time of a message to a healthy engine. */
const healthyMs = 2
/** Runs of this simulation fill a smaller log. */
const smallBytes = 2 ** 20
const lateMs = [5, 100, 1000, 5000] as const

/**
 * The engine of a shared log. Its entries are the truth: each record enters the ledger when the engine
 * stores it, whatever its coordinator learns about that.
 */
export class SharedEngine {
  readonly memory: WatchedEngine
  readonly takeOvers: TakeOvers
  readonly #stage: Stage
  readonly #plan: SharedLogPlan
  readonly #random: Random
  readonly #cutOff = new Set<string>()
  #last: DecodedEntry | undefined
  #order: LeaseOrder | undefined
  readonly #chains: number[] = []
  #isLost = false
  #wasLimited = false

  constructor(stage: Stage, plan: SharedLogPlan) {
    this.#stage = stage
    this.#plan = plan
    this.#random = stage.randomOf('engine')
    this.takeOvers = new TakeOvers(() => stage.clock.monotonicMs(), plan.ttlMs)
    this.memory = new WatchedEngine(
      { clock: stage.clock, bytesMax: plan.bytesMax, fateOf: (passage) => this.#fateOf(passage) },
      (seq, bytes) => stage.watch(() => this.#stored(seq, bytes)),
    )
  }

  /** At some time the log had little space, or none. */
  get wasFull(): boolean {
    return this.#wasLimited || this.#plan.bytesMax < smallBytes
  }

  /** The engine has lost entries: nothing more can be expected of it. */
  get isLost(): boolean {
    return this.#isLost
  }

  get epoch(): number {
    return this.#last?.epoch ?? 0
  }

  /** The checksum of an entry's header, also after the entry was removed. */
  chainAt(seq: number): number {
    return this.#chains[seq] ?? 0
  }

  cutOff(user: string): void {
    this.#cutOff.add(user)
  }

  reunite(user: string): void {
    this.#cutOff.delete(user)
  }

  /** Allows as many bytes as it has, plus these. */
  limit(leftBytes: number): void {
    this.#wasLimited = true
    this.memory.bytesMax = this.memory.range.bytes + leftBytes
  }

  unlimit(): void {
    if (!this.#stage.isHealed) this.memory.bytesMax = this.#plan.bytesMax
  }

  /** Loses the newest entries, or all. */
  lose(entries: number): void {
    const { last } = this.memory.range
    if (last === 0) return
    this.#isLost = true
    if (entries >= last) this.memory.wipe()
    else this.memory.forget(entries)
  }

  heal(): void {
    this.memory.isLeaderless = false
    this.memory.bytesMax = Number.MAX_SAFE_INTEGER
    this.#cutOff.clear()
  }

  async #fateOf(passage: Passage): Promise<Fate> {
    const { user, call, way } = passage
    const { engineMsMax, lostPerThousand, latePerThousand } = this.#plan
    const { isHealed, clock } = this.#stage
    const maxMs = isHealed ? Math.min(healthyMs, engineMsMax) : engineMsMax
    if (maxMs > 0) {
      const delayMs = this.#random.next() * maxMs
      await new Promise<void>((resolve) => clock.setTimer(delayMs, resolve))
    }
    const fate = this.#stage.isHealed
      ? 'pass'
      : this.#draw(passage, lostPerThousand, latePerThousand)
    if (call === 'range') this.takeOvers.rangeAsked(user, way, fate, this.memory.range.last)
    return fate
  }

  #draw({ user, call, way }: Passage, lost: number, late: number): Fate {
    if (this.#cutOff.has(user)) return 'lose'
    const number = this.#random.integer(1000)
    if (number < lost) return 'lose'
    if (number >= lost + late || call !== 'append' || way !== 'request') return 'pass'
    this.#stage.count('a late append')
    return { lateMs: this.#random.pick(lateMs) }
  }

  #stored(seq: number, bytes: Uint8Array): void {
    const stage = this.#stage
    const entry = decodeEntry(bytes, seq)
    stage.events.add(`entry ${seq} ${entry.kind} of epoch ${entry.epoch} at ${entry.clockMs}`)
    if (this.#isLost) {
      this.#storedAfterLoss(seq, entry)
      return
    }
    checkSuccession(entry, seq, this.#last, stage.ledger.lastLsn)
    this.takeOvers.stored(seq, entry)
    this.#last = entry
    this.#chains[seq] = entry.crc
    if (entry.kind === 'epoch') {
      this.#order = new LeaseOrder(stage.ledger, stage.ledger.lastLsn)
      stage.probe('a standby has taken over', entry.epoch > 1)
    }
    stage.probe('a coordinator has resigned', entry.kind === 'resign')
    for (const bytes of entry.records) {
      const record = decodeRecord(bytes)
      if (record.type === 'LeaseGranted')
        this.#order?.check(record, stage.queuesOf(record.workerId))
      stage.addRecord(record, entry.epoch)
    }
    this.#order?.committed(entry.records.length)
  }

  /** A coordinator must not lead if it or another one can know of the loss. */
  #storedAfterLoss(seq: number, entry: DecodedEntry): void {
    const { takeOvers } = this
    // A late copy of an old epoch entry makes no leader.
    const isNew = entry.kind === 'epoch' && entry.epoch > this.epoch
    const witness = isNew ? takeOvers.witnessOf(seq, entry.address) : undefined
    holds(witness === undefined, 'a lost entry is noticed', () => {
      return `${entry.address} leads at entry ${seq}, but ${witness} has read that entry before`
    })
    this.#stage.end('lost')
  }
}

/** Tells of every entry that is stored. */
class WatchedEngine extends MemoryEngine {
  readonly #onStored: (seq: number, bytes: Uint8Array) => void

  constructor(
    options: ConstructorParameters<typeof MemoryEngine>[0],
    onStored: (seq: number, bytes: Uint8Array) => void,
  ) {
    super(options)
    this.#onStored = onStored
  }

  override write(entry: Uint8Array): void {
    super.write(entry)
    this.#onStored(this.range.last, entry)
  }
}
