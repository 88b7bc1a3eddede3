import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Tenure } from '@tenure/client'
import { Progress, type ProgressOutput } from '@tenure/harness'
import { Random, SmallDisk } from '@tenure/testing'
import { judge, type Verdict, type Violation, violation } from './checks/verdict.js'
import { type FinalState, openEvidence } from './evidence/evidence.js'
import { readFinalAnswers } from './evidence/final-answers.js'
import { Parcels } from './evidence/parcels.js'
import { Places } from './evidence/places.js'
import { FaultJournal } from './faults/fault-journal.js'
import { type FaultCounts, injectFaults, noFaults } from './faults/faults.js'
import { Fleet } from './fleet/fleet.js'
import type { Options } from './options.js'
import { type Summary, summarize } from './summary.js'
import { Acknowledged } from './work/acknowledged.js'
import { drain } from './work/draining.js'
import { Refusals } from './work/refusals.js'
import { submitAll } from './work/submitting.js'

/**
 * Space for a log with little history, three checkpoints of all remembered tasks, and the files
 * that a minute of restarts leaves while no checkpoint can be made.
 */
const diskMegabytes = 192

const noSmallDisk = 'the disk is never full: this user may not mount a small file system'

/**
 * Runs everything: starts the fleet, submits under faults, drains, stops the fleet, and judges the
 * evidence. It always ends all processes, and keeps the files if a check fails.
 */
export async function runChaos(
  options: Options,
  output: ProgressOutput,
  signal: AbortSignal,
): Promise<Summary> {
  const places = new Places(mkdtempSync(join(tmpdir(), 'tenure-chaos-')))
  places.make()
  const random = new Random(options.seed)
  const ports = new Random(process.pid)
  const journal = new FaultJournal(places.faults)
  const size = {
    workersOfEach: options.workers,
    tasksPerSecond: (options.tasks * 1000) / options.faultMs,
  }
  const fleet = await Fleet.open(size, places, journal, ports)
  const disk = SmallDisk.mount(places.disk, diskMegabytes)
  const end = () => {
    void fleet.end()
    disk?.unmount()
  }
  process.on('exit', end)
  let isWorthKeeping = true
  try {
    const ending = AbortSignal.any([signal, fleet.broken])
    const run = new Run({ options, places, fleet, disk, journal, output, signal: ending })
    const summary = await run.play(random)
    isWorthKeeping = options.keep || summary.violations.length > 0
    return isWorthKeeping ? { ...summary, directory: places.root } : summary
  } catch (error) {
    isWorthKeeping = !signal.aborted
    if (isWorthKeeping) output.write(`all files are kept in ${places.root}\n`)
    throw fleet.broken.aborted ? fleet.broken.reason : error
  } finally {
    await fleet.end()
    process.off('exit', end)
    if (disk !== undefined) releaseDisk(disk, places, isWorthKeeping)
    if (!isWorthKeeping) rmSync(places.root, { recursive: true })
  }
}

/** Unmounts the small disk; files worth keeping are copied to its mount point. */
function releaseDisk(disk: SmallDisk, places: Places, isWorthKeeping: boolean): void {
  const kept = join(places.root, 'kept')
  if (isWorthKeeping) cpSync(places.disk, kept, { recursive: true })
  disk.unmount()
  if (!isWorthKeeping) return
  rmSync(places.disk, { recursive: true })
  renameSync(kept, places.disk)
}

interface RunParts {
  readonly options: Options
  readonly places: Places
  readonly fleet: Fleet
  readonly disk: SmallDisk | undefined
  readonly journal: FaultJournal
  readonly output: ProgressOutput
  readonly signal: AbortSignal
}

class Run {
  readonly #options: Options
  readonly #places: Places
  readonly #fleet: Fleet
  readonly #disk: SmallDisk | undefined
  readonly #journal: FaultJournal
  readonly #output: ProgressOutput
  readonly #signal: AbortSignal
  readonly #acknowledged: Acknowledged
  readonly #refusals = new Refusals()
  readonly #counts: FaultCounts = noFaults()
  readonly #problems: Violation[] = []
  #progress: Progress | undefined
  #phase = 'starting'
  #alive = 0

  constructor({ options, places, fleet, disk, journal, output, signal }: RunParts) {
    this.#options = options
    this.#places = places
    this.#fleet = fleet
    this.#disk = disk
    this.#journal = journal
    this.#output = output
    this.#signal = signal
    this.#acknowledged = new Acknowledged(places.acknowledged)
  }

  async play(random: Random): Promise<Summary> {
    const startMs = performance.now()
    this.#progress = new Progress(this.#output, () => this.#describe(performance.now() - startMs))
    const { coordinator, witness, workers } = this.#fleet
    try {
      coordinator.start()
      await using tenure = await this.#connect()
      for (const seat of [witness, ...workers]) seat.start()
      await this.#work(tenure, random)
      const elapsedMs = performance.now() - startMs
      const seen = await this.#stop(tenure)
      writeFileSync(this.#places.seen, JSON.stringify(seen))
      this.#begin('judging')
      const verdict = await this.#judge()
      const refused = {
        submissionsRefused: this.#refusals.count,
        startsRefused: this.#fleet.startsRefused,
      }
      const skipped = this.#disk === undefined ? [noSmallDisk] : []
      const counts = { ...this.#counts, ...refused }
      return summarize(this.#options, verdict, counts, skipped, elapsedMs)
    } finally {
      this.#progress.end()
    }
  }

  async #judge(): Promise<Verdict> {
    const parcels = new Parcels(this.#places.parcels)
    const verdict = await judge(await openEvidence(this.#places), parcels)
    parcels.remove()
    return { ...verdict, violations: [...this.#problems, ...verdict.violations] }
  }

  #connect(): Promise<Tenure> {
    const times = { connectTimeoutMs: 60_000, requestTimeoutMs: Number.POSITIVE_INFINITY }
    const endpoints = [`127.0.0.1:${this.#fleet.port}`]
    return connect({ endpoints, name: 'chaos', ...times }, { signal: this.#signal })
  }

  /** Runs until no task is alive. */
  async #work(tenure: Tenure, random: Random): Promise<void> {
    const fleet = this.#fleet
    this.#begin('faults')
    // A failure of one aborts the other.
    const failing = new AbortController()
    const signal = AbortSignal.any([this.#signal, failing.signal])
    const book = {
      acknowledged: this.#acknowledged,
      noteRefusal: (reason: string) => {
        this.#refusals.add(reason, this.#journal.fills, Date.now())
      },
    }
    const faults = { fleet, disk: this.#disk, random, counts: this.#counts, journal: this.#journal }
    const parts = [
      submitAll(tenure, this.#options, book, signal),
      injectFaults({ ...faults, signal }, this.#options.faultMs),
    ]
    try {
      await Promise.all(parts)
    } finally {
      failing.abort()
      await Promise.allSettled(parts)
    }
    this.#begin('draining')
    const onCount = (alive: number) => {
      this.#alive = alive
    }
    this.#note('all tasks end after the faults', await drain(tenure, onCount, this.#signal))
  }

  /** Stops the workers first, so that the coordinator's final answers do not change. */
  async #stop(tenure: Tenure): Promise<FinalState> {
    const fleet = this.#fleet
    this.#begin('stopping')
    const badEnds = await fleet.stopWorkers()
    const look = await readFinalAnswers(tenure, fleet.httpPort, this.#places.live, this.#signal)
    await tenure.close()
    badEnds.push(...(await fleet.stopCoordinator()))
    badEnds.push(...(await fleet.stopWitness()))
    this.#note('processes exit only when told to', [...fleet.unexpectedExits, ...badEnds])
    this.#note('no child outlives its process', await fleet.leftovers())
    this.#note('standard error stays empty', readComplaints(this.#places.errors))
    const { life: coordinatorLives } = fleet.coordinator
    const workers = fleet.workers.length
    return { ...look, coordinatorLives, workers, refusals: this.#refusals.list }
  }

  #begin(phase: string): void {
    this.#phase = phase
    this.#progress?.show()
  }

  #note(check: string, faults: readonly string[]): void {
    if (faults.length > 0) this.#problems.push(violation(check, faults))
  }

  #describe(elapsedMs: number): string {
    const { kills, stops, cuts, stalls, fills } = this.#counts
    const seconds = `${Math.round(elapsedMs / 1000)} s`.padStart(6)
    const acknowledged = `${this.#acknowledged.count} acknowledged`
    const alive = this.#phase === 'draining' ? `, ${this.#alive} alive` : ''
    return `${seconds}  ${this.#phase}: ${acknowledged}${alive}, ${kills} kills, ${stops} stops, ${cuts} cuts, ${stalls} stalls, ${fills} fills`
  }
}

/** Lines that processes wrote to standard error. */
function readComplaints(path: string): string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}
