import { describeError } from '@tenure/harness'
import {
  type DiskCall,
  type DiskImage,
  type FaultEffect,
  type Random,
  SimulatedDisk,
  type SimulatedNetwork,
} from '@tenure/testing'
import type { Damage } from '../scenario/scenario.js'
import { codeOf, Violation } from '../violation.js'
import { damageDisk } from './damage.js'
import { DiskCopies } from './disk-copies.js'
import { Life, type LifeHost } from './life.js'
import type { Membership } from './membership.js'
import { type FaultKind, isRefusal, PlannedFaults } from './planned-faults.js'
import type { MachineClock } from './process.js'
import type { Stage } from './stage.js'
import { WallClock } from './wall-clock.js'

export type Keep = 'none' | 'all' | 'random'

/** Delay after which a supervisor restarts an ended process. */
const restartMs = 300
/** Delay after which a supervisor kills a process that does not stop. */
const stopMsMax = 10_000
/** An unknown connection is reset this soon after the machine responds again. */
const resetMs = 5

/** A machine's place in the world. `aheadMs`: of its wall clock at the start. */
export interface Place {
  readonly number: number
  readonly address: string
  readonly aheadMs: number
  /** Absent for the only coordinator. */
  readonly membership: Membership | undefined
}

const lonePlace: Place = {
  number: 0,
  address: 'coordinator:7411',
  aheadMs: 0,
  membership: undefined,
}

/** The coordinator's machine: its disk, its power, and its supervisor. */
export class Machine implements LifeHost {
  readonly address: string
  readonly network: SimulatedNetwork
  readonly membership: Membership | undefined
  readonly #stage: Stage
  readonly #name: string
  readonly #wall: WallClock | undefined
  readonly #random: Random
  #disk: SimulatedDisk
  #life: Life | undefined
  readonly #copies: DiskCopies
  /** Faults since the power came on. */
  #faults = new PlannedFaults()
  #isOff = false
  #isDamaged = false
  #isHealed = false
  /** Downtime after a regular stop. */
  #downMs = restartMs
  #isStopped = false
  #isHalted = false
  /** The consequences of a fault that ends the process at a disk call. */
  #atEnd: { readonly keep: Keep; readonly downMs: number } = { keep: 'random', downMs: restartMs }
  /** Set for the final shutdown, after which the coordinator is not restarted. */
  #isShutDown = false
  #formerImage: DiskImage | undefined

  constructor(stage: Stage, place: Place = lonePlace) {
    this.#stage = stage
    const { number, aheadMs, membership } = place
    this.#name = number === 0 ? '' : ` ${number}`
    this.address = place.address
    this.membership = membership
    this.network = stage.makeNetwork(`network${this.#name}`)
    this.#wall = membership && new WallClock(stage.clock, aheadMs)
    this.#copies = new DiskCopies(stage)
    this.#random = stage.randomOf(`disk${this.#name}`)
    this.#disk = this.#newDisk()
  }

  #newDisk(): SimulatedDisk {
    const { diskMsMax } = this.#stage.scenario.knobs
    const latency = () =>
      new Promise<void>((resolve) => {
        this.#stage.clock.setTimer(this.#random.next() * diskMsMax, resolve)
      })
    const disk = new SimulatedDisk({
      recordCalls: false,
      latency: diskMsMax > 0 ? latency : undefined,
    })
    this.#watchPower(disk)
    return disk
  }

  get clock(): MachineClock {
    return this.#wall ?? this.#stage.clock
  }

  /** The wall clock of this machine; a lone machine's is that of the world. */
  get #settableClock(): Pick<WallClock, 'jump' | 'drift'> {
    return this.#wall ?? this.#stage.clock
  }

  stepClock(byMs: number): void {
    this.#settableClock.jump(byMs)
  }

  driftClock(rate: number): void {
    this.#settableClock.drift(rate)
  }

  /** Whether it decides, not only follows. */
  get isActive(): boolean {
    return this.isUp && this.#life?.server?.role === 'active'
  }

  /** The shared log has lost entries, and it stays down. */
  get isHalted(): boolean {
    return this.#isHalted
  }

  get disk(): SimulatedDisk {
    return this.#disk
  }

  get life(): Life | undefined {
    return this.#life
  }

  get lives(): number {
    return this.#stage.life
  }

  /** A machine without power does not refuse connections. */
  get isOff(): boolean {
    return this.#isOff
  }

  get isDamaged(): boolean {
    return this.#isDamaged
  }

  /** Whether the coordinator is serving. */
  get isUp(): boolean {
    return this.#life?.server !== undefined && !this.#life.process.isOver
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  start(): void {
    if (this.#isOff || this.#isShutDown || this.#isHalted || this.#life !== undefined) return
    if (this.#faults.hasLieShown) {
      this.#endAsLied()
      return
    }
    // A call that was in flight during the repair may have made the disk fail permanently.
    if (this.#isHealed) this.#disk.heal()
    const life = new Life(this.#stage, this, ++this.#stage.life)
    this.#life = life
    this.#stage.events.add(`life ${life.number} begins`)
    this.#formerImage = this.#disk.snapshot()
    void life.disk.whenKilled().then(() => this.#onKilled(life))
    const mine = (action: () => void) => {
      if (!life.process.isOver) this.#stage.watch(action)
    }
    life.start().then(
      (server) =>
        mine(() => {
          void server.ended.then((error) => mine(() => this.#onEnded(life, error)))
        }),
      (error: unknown) => mine(() => this.#onCannotStart(life, error)),
    )
  }

  /** Kills the process; written data stays in the page cache. */
  kill(downMs: number): void {
    if (this.#life === undefined) return
    this.#endLife(this.#life, downMs)
    this.#resetUnknown()
  }

  /** A graceful stop, as by an operator. */
  stop(downMs: number): void {
    const { server } = this.#life ?? {}
    if (server === undefined) return
    this.#downMs = downMs
    server.stop().catch(() => {})
    if (this.membership === undefined) return
    // A resignation waits for the engine; a supervisor does not.
    const life = this.#life
    this.#stage.after(stopMsMax, () => {
      if (this.#life === life && !this.#isShutDown) this.kill(downMs)
    })
  }

  /** The final stop. */
  shutDown(): void {
    this.#isShutDown = true
    this.#isStopped = this.membership !== undefined && this.#life?.server === undefined
    this.stop(0)
  }

  losePower(keep: Keep, downMs: number, damage: readonly Damage[] = []): void {
    if (this.#isOff) return
    this.#isOff = true
    if (this.#life !== undefined) this.#endLife(this.#life, undefined)
    // Peers are not notified: a machine without power cannot tell them.
    for (const { far } of this.network.connections) far.break()
    const { isLying } = this.#faults
    this.countFaults()
    const random = this.#stage.randomOf(`power loss ${this.lives}${this.#name}`)
    const policy = keep === 'random' ? { random } : keep === 'all' ? 'keep-all' : 'keep-none'
    this.#disk = this.#disk.powerLoss(policy)
    for (const one of damage) {
      if (!damageDisk(this.#disk, one, this.#formerImage)) continue
      this.#stage.count(`damage: ${one.kind}`)
      this.#isDamaged = true
    }
    this.#watchPower(this.#disk)
    this.#stage.events.add(`power lost, ${this.#disk.files().length} files left`)
    if (isLying) {
      this.#endAsLied()
      return
    }
    this.#stage.after(downMs, () => {
      this.#isOff = false
      this.#resetUnknown()
      this.start()
    })
  }

  /**
   * Drops clean pages, as under memory pressure. Pages that the disk wrongly claimed to have synced
   * are lost, too.
   */
  dropCleanPages(): void {
    if (this.#faults.isLying) this.#endAsLied()
    else this.#disk.dropCleanPages()
  }

  /** Returns false if no process is running. */
  pause(): boolean {
    return this.#life?.process.pause() ?? false
  }

  resume(): void {
    this.#life?.process.resume()
  }

  /**
   * Makes the next matching calls fail. Other disks and calls already in flight are not affected.
   */
  planFault(
    kind: FaultKind,
    matches: (call: DiskCall) => boolean,
    effect: FaultEffect,
    times: number,
  ): void {
    const fault = this.#disk.failWhen(matches, { ...effect, times })
    this.#faults.add(kind, fault)
  }

  /** Loses power, or ends the process, at the n-th call from now. */
  planEnd(calls: number, effect: FaultEffect, end: { keep: Keep; downMs: number }): void {
    this.#atEnd = end
    const index = this.#disk.callCount + calls
    const fault = this.#disk.failWhen((call) => call.index >= index, effect)
    this.#faults.add('end at call', fault)
  }

  /** Counts the faults of the disk so far. */
  countFaults(): void {
    for (const kind of this.#faults.struck) this.#stage.count(kind)
    this.#faults = new PlannedFaults()
  }

  heal(): void {
    this.#isHealed = true
    this.#disk.heal()
    this.#disk.setCapacity(Number.POSITIVE_INFINITY)
    this.resume()
  }

  /** The server has failed, and will exit by itself. */
  onFailure(life: Life, error: unknown): void {
    this.#stage.events.add(`life ${life.number} failed: ${codeOf(error)}`)
    this.#stage.probes.reach('the log failed')
    if (error instanceof Violation) throw error
    this.onDiskError(error, 'the coordinator')
  }

  /** Checks that a disk fault explains this error; otherwise the error is a defect. */
  onDiskError(error: unknown, what: string): void {
    if (this.membership?.explains(error) === true) return
    const disk = { isDamaged: this.#isDamaged, wasFull: this.#stage.wasDiskFull }
    if (this.#faults.explain(error, disk)) return
    throw new Violation(
      'every failure follows from a planned fault',
      `${what} failed: ${describeError(error)}`,
      { cause: error },
    )
  }

  /** Any answer of a healthy disk may be followed by a test start. */
  copySometimes(): void {
    if (!this.#faults.isLying && !this.#isDamaged) this.#copies.takeSometimes(this.#disk)
  }

  startFromCopies(): Promise<void> {
    return this.#copies.startAll()
  }

  #watchPower(disk: SimulatedDisk): void {
    void disk.whenCrashed().then(() => {
      if (this.#disk !== disk || this.#isOff) return
      this.losePower(this.#atEnd.keep, this.#atEnd.downMs)
    })
  }

  #onKilled(life: Life): void {
    if (this.#life !== life || life.process.isOver) return
    this.kill(this.#atEnd.downMs)
  }

  #onEnded(life: Life, error: unknown): void {
    this.#stage.events.add(`life ${life.number} ended: ${codeOf(error) ?? 'well'}`)
    if (error !== undefined) this.onDiskError(error, 'the coordinator')
    this.#endLife(life, this.#whenAgain(error, this.#downMs))
    this.#downMs = restartMs
    this.#resetUnknown()
    this.#isStopped = this.#isShutDown
  }

  #onCannotStart(life: Life, error: unknown): void {
    const stage = this.#stage
    stage.events.add(`life ${life.number} could not start: ${codeOf(error)}`)
    if (error instanceof Violation) throw error
    if (this.#isDamaged && isRefusal(error)) {
      stage.probes.reach('a log refused to open')
      stage.end('refused')
      this.#endLife(life, undefined)
      return
    }
    stage.probes.reach('a start failed and was tried again')
    this.onDiskError(error, 'the start')
    this.#endLife(life, this.#whenAgain(error, restartMs))
  }

  /** The operator's reaction to an error of the shared log. */
  #whenAgain(error: unknown, downMs: number): number | undefined {
    switch (this.membership && codeOf(error)) {
      case 'LOG_LOST':
        this.#isHalted = true
        return undefined
      case 'LOG_TRUNCATED':
        this.#stage.events.add(`${this.address} begins its copy anew`)
        this.countFaults()
        this.#disk = this.#newDisk()
        return downMs
      default:
        return downMs
    }
  }

  #endLife(life: Life, downMs: number | undefined): void {
    life.end()
    this.#life = undefined
    this.network.stopListening()
    if (downMs !== undefined) this.#stage.after(downMs, () => this.start())
  }

  #resetUnknown(): void {
    for (const { near, far } of this.network.connections) {
      far.break()
      this.#stage.after(resetMs, () => near.break())
    }
  }

  /**
   * The disk claimed a sync that it did not make. The log then guarantees nothing but to open or to
   * refuse.
   */
  #endAsLied(): void {
    this.#stage.events.add('the disk has lied')
    this.#stage.end('lied')
  }
}
