import {
  type CoordinatorServer,
  type ServerObserver,
  startCoordinator,
} from '@tenure/coordinator-server'
import type { Answer, Request } from '@tenure/protocol'
import { hashState, type LogRecord, position } from '@tenure/state-machine'
import type { DiskImage, SimulatedDisk, SimulatedNetwork, SimulatedProcess } from '@tenure/testing'
import type { LogObserver } from '@tenure/wal'
import { LeaseOrder } from '../checks/order.js'
import { holds } from '../violation.js'
import { Checkpoints, logHistory } from './checkpoints.js'
import { directory, logClock, logOptions, serverOptions } from './coordinator-options.js'
import { type LogContents, readLog } from './found.js'
import type { Membership } from './membership.js'
import { type MachineClock, Process } from './process.js'
import { serverTransport } from './server-transport.js'
import type { Stage } from './stage.js'

const recordsBetweenLooks = 8
const fileHeaderBytes = 512

/** The machine that the coordinator runs on. */
export interface LifeHost {
  readonly disk: SimulatedDisk
  readonly isDamaged: boolean
  readonly network: SimulatedNetwork
  readonly clock: MachineClock
  /** Absent for the only coordinator. */
  readonly membership: Membership | undefined
  onFailure(life: Life, error: unknown): void
  onDiskError(error: unknown, what: string): void
  copySometimes(): void
}

/**
 * One life of the coordinator: the shipped server from startup to exit. Its reports are compared
 * with the ledger.
 */
export class Life {
  readonly number: number
  readonly process: Process
  readonly disk: SimulatedProcess
  readonly #stage: Stage
  readonly #host: LifeHost
  readonly #checkpoints: Checkpoints
  #server: CoordinatorServer | undefined
  #order: LeaseOrder | undefined
  /** Records that were applied before the contents of the opened log were read. */
  #early: LogRecord[] | undefined = []
  /** The LSN of the last record that this life has applied. */
  #lastLsn = 0
  /** The LSN at the last check of the live state. */
  #checkedLsn = 0

  constructor(stage: Stage, host: LifeHost, number: number) {
    const { disk } = host
    this.#stage = stage
    this.#host = host
    this.number = number
    this.process = new Process(host.clock, stage.scenario.knobs.clockRate)
    this.disk = disk.process()
    this.#checkpoints = new Checkpoints(disk, this.process.clock, () => this.disk.kill())
  }

  get server(): CoordinatorServer | undefined {
    return this.#server
  }

  async start(): Promise<CoordinatorServer> {
    const { knobs } = this.#stage.scenario
    const { clock } = this.process
    this.#server = await startCoordinator({
      ...serverOptions(knobs),
      clock,
      transport: serverTransport(this.#host.network, this.process),
      checkpointMaker: this.#checkpoints,
      historyReader: logHistory(this.disk, clock),
      sharedLog: this.#host.membership?.join(this.process),
      observer: { ...this.#observer(), ...this.#host.membership?.observer },
      log: {
        ...logOptions,
        disk: this.disk,
        clock: logClock(clock, knobs.diskMsMax > 0),
        observer: this.#logObserver(),
      },
    })
    return this.#server
  }

  /** The process is gone, and reports nothing more. */
  end(): void {
    this.#watch(() => {
      this.checkState(true)
      this.#stage.ledger.checkModels()
    })
    this.process.end()
    this.#host.membership?.leave()
    this.disk.kill()
    this.#checkpoints.kill()
  }

  /**
   * Called after each step. Checks the live state only sometimes, because that takes longer than a
   * step.
   */
  check(): void {
    const isShared = this.#host.membership !== undefined
    const lastLsn = isShared && this.#server ? position(this.#server.state).lastLsn : this.#lastLsn
    if (lastLsn < this.#checkedLsn + recordsBetweenLooks) return
    this.checkState()
  }

  /** Compares the live state with a replay of the records. */
  checkState(always = false): void {
    if (this.#server === undefined || this.process.isOver || this.#early !== undefined) return
    const { ledger } = this.#stage
    const { lastLsn } = position(this.#server.state)
    this.#checkedLsn = lastLsn
    if (this.#host.membership !== undefined) {
      this.#host.membership.checkState(this.#server.state, always)
      return
    }
    const facts = () => `the state is at LSN ${lastLsn}, the last record is ${ledger.lastLsn}`
    holds(lastLsn === ledger.lastLsn, 'every applied record is reported', facts)
    const isSame = hashState(this.#server.state) === ledger.replayedHash()
    holds(isSame, 'the live state matches a replay', facts)
  }

  #observer(): ServerObserver {
    const stage = this.#stage
    const { probes } = stage
    return {
      applied: (record) => this.#watch(() => this.#applied(record)),
      answered: (kind, answer) => this.#watch(() => this.#answered(kind, answer)),
      recovered: (found) => {
        stage.probe('started again with a torn tail', found.tornTail !== undefined)
        stage.probe('a bad checkpoint was skipped', found.badCheckpoints.length > 0)
        this.#readFound(this.#host.disk.snapshot())
      },
      started: ({ lastLsn, replayed }) => {
        stage.probe('started again from a checkpoint', replayed < lastLsn && replayed > 0)
        stage.events.add(`started at ${lastLsn}, replayed ${replayed}`)
      },
      refused: ({ reason }) => stage.events.add(`refused ${reason}`),
      failed: (error) => this.#watch(() => this.#host.onFailure(this, error)),
      checkpointBegun: (lsn) => {
        stage.coveredLsn = Math.max(stage.coveredLsn, lsn)
      },
      checkpointed: ({ lsn, removed }) => {
        stage.events.add(`checkpoint ${lsn}, ${removed.segments} segments removed`)
        probes.reach('a checkpoint was made')
        stage.probe('history was removed', removed.segments > 0)
      },
      checkpointFailed: (error) =>
        this.#watch(() => {
          probes.reach('a checkpoint failed')
          this.#host.onDiskError(error, 'a checkpoint')
        }),
    }
  }

  #logObserver(): LogObserver {
    const { probes } = this.#stage
    return {
      committed: ({ records, onLoop }) => {
        if (records > 1) probes.reach('a batch held several records')
        if (!onLoop) probes.reach('a write went over the thread pool')
        this.#order?.committed(records)
      },
      rolled: ({ segment }) => {
        probes.reach('a segment was full')
        this.#stage.probe('a segment began in a used file', this.#hasOldContent(segment))
      },
      spaceChanged: (isFull) => {
        if (isFull) probes.reach('the disk was full')
      },
    }
  }

  /** Whether the file of a segment that has just begun was another one before. */
  #hasOldContent(segment: string): boolean {
    const bytes = this.#host.disk.readFile(`${directory}/wal/${segment}`)
    return bytes.subarray(fileHeaderBytes).some((byte) => byte !== 0)
  }

  #watch(look: () => void): void {
    if (!this.process.isOver) this.#stage.watch(look)
  }

  /** The contents of the log when it was opened, read independently of the coordinator. */
  #readFound(image: DiskImage): void {
    const { clock, ledger } = this.#stage
    const damaged = this.#host.isDamaged ? { knownLsn: ledger.lastLsn } : undefined
    this.#stage.wait(
      readLog(image, clock, damaged).then((found) => {
        if (!this.process.isOver) this.#stage.watch(() => this.#take(found))
      }),
    )
  }

  #take(found: LogContents): void {
    const { membership } = this.#host
    if (membership !== undefined) {
      membership.checkCopy(found)
      this.#early = undefined
      return
    }
    const { ledger, probes } = this.#stage
    const known = ledger.lastLsn
    holds(found.lastLsn >= known, 'nothing acknowledged is lost', () => {
      return `LSN ${known} was applied, but the reopened log ends at LSN ${found.lastLsn}`
    })
    for (const { lsn, record } of found.entries) {
      if (lsn <= known) ledger.compare(lsn, record)
      else {
        probes.reach('an unreported record was found')
        this.#stage.addRecord(record)
      }
    }
    holds(ledger.lastLsn === found.lastLsn, 'nothing acknowledged is lost', () => {
      return `the log ends at LSN ${found.lastLsn}, but has records up to LSN ${ledger.lastLsn}`
    })
    holds(found.hash === ledger.replayedHash(), 'checkpoint and tail match a full replay', () => {
      return `at LSN ${found.lastLsn}, from the checkpoint at ${found.checkpointLsn}`
    })
    this.#lastLsn = found.lastLsn
    this.#order = new LeaseOrder(ledger, found.lastLsn)
    const early = this.#early ?? []
    this.#early = undefined
    for (const record of early) this.#applied(record)
  }

  #applied(record: LogRecord): void {
    const { membership } = this.#host
    if (membership !== undefined) {
      const { lastLsn } = position(this.#server!.state)
      membership.checkApplied(lastLsn, record)
      return
    }
    if (this.#early !== undefined) {
      this.#early.push(record)
      return
    }
    const { ledger } = this.#stage
    holds(this.#lastLsn === ledger.lastLsn, 'only one coordinator writes', () => {
      return `life ${this.number} is at LSN ${this.#lastLsn}, the last record is ${ledger.lastLsn}`
    })
    if (record.type === 'LeaseGranted') {
      this.#order?.check(record, this.#stage.queuesOf(record.workerId))
    }
    this.#stage.addRecord(record)
    this.#lastLsn++
  }

  #answered(kind: Request['kind'] | 'malformed', answer: Answer): void {
    this.#stage.events.add(`answered ${kind} ${answer.kind}`)
    this.#host.copySometimes()
  }
}
