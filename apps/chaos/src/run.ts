import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TaskState, type Tenure } from '@tenure/client'
import { Random } from '@tenure/testing'
import { Acknowledged } from './acknowledged.js'
import { drain } from './draining.js'
import { type Evidence, gatherEvidence } from './evidence.js'
import { type FaultCounts, injectFaults, noFaults } from './faults.js'
import { Fleet, Places } from './fleet.js'
import { fetchMetrics } from './metrics.js'
import type { Options } from './options.js'
import { Progress, type ProgressOutput } from './progress.js'
import { submitAll } from './submitting.js'
import { type Summary, summarize } from './summary.js'
import { judge, type Violation, violation } from './verdict.js'

export interface Outcome {
  readonly summary: Summary
  readonly evidence: Evidence
}

/**
 * The whole of it: starts the fleet, submits under faults, lets it drain, stops it, and judges what
 * everybody has written. Whatever happens, no process is left; files are where something was found.
 */
export async function runChaos(
  options: Options,
  output: ProgressOutput,
  signal: AbortSignal,
): Promise<Outcome> {
  const places = new Places(mkdtempSync(join(tmpdir(), 'tenure-chaos-')))
  const random = new Random(options.seed)
  const ports = new Random(process.pid)
  const fleet = await Fleet.open(places, options.workers, ports)
  const end = () => void fleet.end()
  process.on('exit', end)
  let isWorthKeeping = true
  try {
    const ending = AbortSignal.any([signal, fleet.broken])
    const run = new Run(options, places, fleet, output, ending)
    const { evidence, summary } = await run.play(random)
    isWorthKeeping = summary.violations.length > 0
    return { evidence, summary: { ...summary, ...(isWorthKeeping && { directory: places.root }) } }
  } catch (error) {
    isWorthKeeping = !signal.aborted
    if (isWorthKeeping) output.write(`what was written is kept in ${places.root}\n`)
    throw fleet.broken.aborted ? fleet.broken.reason : error
  } finally {
    await fleet.end()
    process.off('exit', end)
    if (!isWorthKeeping) rmSync(places.root, { recursive: true })
  }
}

class Run {
  readonly #options: Options
  readonly #places: Places
  readonly #fleet: Fleet
  readonly #output: ProgressOutput
  readonly #signal: AbortSignal
  readonly #acknowledged: Acknowledged
  readonly #counts: FaultCounts = noFaults()
  readonly #problems: Violation[] = []
  #progress: Progress | undefined
  #phase = 'starting'
  #alive = 0

  constructor(
    options: Options,
    places: Places,
    fleet: Fleet,
    output: ProgressOutput,
    signal: AbortSignal,
  ) {
    this.#options = options
    this.#places = places
    this.#fleet = fleet
    this.#output = output
    this.#signal = signal
    this.#acknowledged = new Acknowledged(places.acknowledged)
  }

  async play(random: Random): Promise<Outcome> {
    const startMs = performance.now()
    this.#progress = new Progress(this.#output, () => this.#describe(performance.now() - startMs))
    try {
      for (const seat of this.#fleet.seats) seat.start()
      await using tenure = await this.#connect()
      await this.#work(tenure, random)
      const elapsedMs = performance.now() - startMs
      const seen = await this.#stop(tenure)
      this.#begin('judging')
      const evidence = await gatherEvidence(this.#places, seen)
      const verdict = judge(evidence)
      const all = { ...verdict, violations: [...this.#problems, ...verdict.violations] }
      return { evidence, summary: summarize(this.#options, all, this.#counts, elapsedMs) }
    } finally {
      this.#progress.end()
    }
  }

  #connect(): Promise<Tenure> {
    const times = { connectTimeoutMs: 60_000, requestTimeoutMs: Number.POSITIVE_INFINITY }
    const endpoints = [`127.0.0.1:${this.#fleet.port}`]
    return connect({ endpoints, name: 'chaos', ...times }, { signal: this.#signal })
  }

  /** Until no task is alive any more. */
  async #work(tenure: Tenure, random: Random): Promise<void> {
    const fleet = this.#fleet
    this.#begin('faults')
    // What goes wrong with one ends the other.
    const failing = new AbortController()
    const signal = AbortSignal.any([this.#signal, failing.signal])
    const { faultMs } = this.#options
    const parts = [
      submitAll(tenure, this.#options, this.#acknowledged, signal),
      injectFaults(fleet, random, faultMs, this.#counts, signal),
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
    this.#note('everything drains', await drain(tenure, onCount, this.#signal))
  }

  /** The workers first, so that what the coordinator says then is the last that it says. */
  async #stop(tenure: Tenure) {
    const fleet = this.#fleet
    this.#begin('stopping')
    const badEnds = await fleet.stopWorkers()
    const live = new Map<number, TaskState>()
    for await (const { taskId, state } of tenure.list({ signal: this.#signal })) {
      live.set(taskId, state)
    }
    const metrics = await fetchMetrics(fleet.httpPort)
    await tenure.close()
    badEnds.push(...(await fleet.stopCoordinator()))
    this.#note('processes end only when they are told to', [...fleet.ownEnds, ...badEnds])
    this.#note('nothing outlives its process', await fleet.leftovers())
    this.#note('nobody complains', readComplaints(this.#places.errors))
    const { tasks: acknowledged } = this.#acknowledged
    return { acknowledged, live, metrics, coordinatorLives: fleet.coordinator.life }
  }

  #begin(phase: string): void {
    this.#phase = phase
    this.#progress?.show()
  }

  #note(check: string, faults: readonly string[]): void {
    if (faults.length > 0) this.#problems.push(violation(check, faults))
  }

  #describe(elapsedMs: number): string {
    const { kills, stops, cuts, stalls } = this.#counts
    const seconds = `${Math.round(elapsedMs / 1000)} s`.padStart(6)
    const acknowledged = `${this.#acknowledged.tasks.size}/${this.#options.tasks} acknowledged`
    const alive = this.#phase === 'draining' ? `, ${this.#alive} alive` : ''
    return `${seconds}  ${this.#phase}: ${acknowledged}${alive}, ${kills} kills, ${stops} stops, ${cuts} cuts, ${stalls} stalls`
  }
}

/** What processes wrote to their standard error. */
function readComplaints(path: string): string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}
