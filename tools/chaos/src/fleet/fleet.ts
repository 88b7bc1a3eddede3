import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { programOf } from '@tenure/harness'
import type { Random } from '@tenure/testing'
import { type IsolationKind, isolations } from '@tenure/worker-runtime'
import { type CoordinatorLine, Tail } from '../evidence/coordinator-lines.js'
import type { Places } from '../evidence/places.js'
import type { FaultJournal } from '../faults/fault-journal.js'
import type { Queue } from '../work/work.js'
import { Child, type Exit } from './child.js'
import { findPort, Network } from './network.js'
import { Seat } from './seat.js'

/** Lease duration without a heartbeat. */
export const leaseMs = 2000

/** Number of ended tasks to remember: far more than the client asks for again. */
export const retentionTasks = 30_000

/** Short leases, small segments and little history, so that much happens in a short run. */
const coordinatorArgs = [
  ...['--lease-duration', `${leaseMs}ms`, '--heartbeat-interval', '500ms'],
  // Limited by number alone, so that nothing more is forgotten once the fleet is idle.
  ...['--retention', '365d', '--retention-tasks', `${retentionTasks}`],
  ...['--segment-bytes', '1MiB', '--history-bytes-max', '8MiB', '--disk-low-bytes', '8MiB'],
  ...['--log-level', 'debug'],
]

/** Approximate checkpoint interval; the witness may lag by at most two checkpoints. */
const checkpointEveryS = 3
/**
 * Records of one task life, and the records that the coordinator estimates to replay in a
 * millisecond.
 */
const recordsPerTask = 3.4
const replayedPerMs = 400
const replayMsMin = 10

const workerArgs = [
  ...['--http-port', 'off', '--log-level', 'debug'],
  ...['--poll-wait', '5s', '--abort-grace', '1s', '--drain-grace', '10s'],
]

const crews: { readonly [I in IsolationKind]: { concurrency: number; queues: readonly Queue[] } } =
  {
    thread: { concurrency: 4, queues: ['short', 'long'] },
    process: { concurrency: 3, queues: ['short', 'long'] },
    inline: { concurrency: 8, queues: ['short'] },
  }

const ownEndsMax = 10

/** Delay after which a supervisor restarts a process that failed to start. */
const startAgainMs = 1000
/** A start may fail for lack of space until this long after the disk has space again. */
const startingMs = 10_000

interface Ports {
  readonly coordinator: number
  readonly http: number
  readonly network: number
}

export interface FleetSize {
  readonly workersOfEach: number
  /** Submission rate. */
  readonly tasksPerSecond: number
}

/**
 * The coordinator, the workers and the witness, each a process of the real binary in a seat of its
 * own.
 */
export class Fleet {
  readonly port: number
  readonly httpPort: number
  /** All traffic except the metrics goes through it. */
  readonly network: Network
  readonly coordinator: Seat
  readonly workers: readonly Seat[]
  /** Copies the log; can only be started after the log exists. */
  readonly witness: Seat
  /** Processes that exited without being told to. Each was replaced. */
  readonly unexpectedExits: string[] = []
  readonly #broken = new AbortController()
  readonly #places: Places
  readonly #coordinatorPort: number
  readonly #tasksPerSecond: number
  readonly #journal: FaultJournal
  #startsRefused = 0
  #isEnding = false

  private constructor(
    size: FleetSize,
    places: Places,
    journal: FaultJournal,
    network: Network,
    ports: Ports,
  ) {
    this.#places = places
    this.#journal = journal
    this.#tasksPerSecond = size.tasksPerSecond
    this.network = network
    this.port = ports.network
    this.httpPort = ports.http
    this.#coordinatorPort = ports.coordinator
    const onUnexpectedExit = (seat: Seat, exit: Exit) => this.#onUnexpectedExit(seat, exit)
    this.coordinator = new Seat(
      'coordinator',
      (life) => this.#launchCoordinator(life),
      onUnexpectedExit,
    )
    this.witness = new Seat('witness', () => this.#launchWitness(), onUnexpectedExit)
    this.workers = isolations.flatMap((isolation) =>
      Array.from({ length: size.workersOfEach }, (_, index) => {
        const name = `${isolation}-${index + 1}`
        return new Seat(
          name,
          (life) => this.#launchWorker(isolation, `${name}.${life}`),
          onUnexpectedExit,
        )
      }),
    )
  }

  static async open(
    size: FleetSize,
    places: Places,
    journal: FaultJournal,
    random: Random,
  ): Promise<Fleet> {
    const ports = {
      coordinator: await findPort(random),
      http: await findPort(random),
      network: await findPort(random),
    }
    const network = await Network.open(ports.network, ports.coordinator)
    return new Fleet(size, places, journal, network, ports)
  }

  /** Aborts when too many processes exit by themselves. */
  get broken(): AbortSignal {
    return this.#broken.signal
  }

  get seats(): readonly Seat[] {
    return [this.coordinator, this.witness, ...this.workers]
  }

  /** File that the current coordinator writes its log lines to. */
  get coordinatorOutput(): string {
    return join(this.#places.coordinator, `${this.coordinator.life}.jsonl`)
  }

  /**
   * How often the coordinator failed to start because its disk was full; each time it was
   * restarted.
   */
  get startsRefused(): number {
    return this.#startsRefused
  }

  /** Stops the workers as an operator would; returns those that did not exit cleanly. */
  async stopWorkers(): Promise<string[]> {
    const ends = await Promise.all(this.workers.map(stopCleanly))
    return ends.flat()
  }

  async stopCoordinator(): Promise<string[]> {
    return stopCleanly(this.coordinator)
  }

  /** Stops the witness after it has read to the end of the log. */
  async stopWitness(): Promise<string[]> {
    return stopCleanly(this.witness)
  }

  /** Process groups that survive their leader, after the time they may take to notice its death. */
  async leftovers(): Promise<string[]> {
    const left = () => this.seats.filter((seat) => seat.leftovers > 0)
    for (let look = 0; look < 600 && left().length > 0; look++) await setTimeout(100)
    return left().map((seat) => `${seat.name} left ${seat.leftovers} process groups running`)
  }

  /** Kills all processes immediately; settles when all are gone. */
  async end(): Promise<void> {
    this.#isEnding = true
    this.network.close()
    await Promise.all(this.seats.map((seat) => seat.end()))
  }

  #onUnexpectedExit(seat: Seat, exit: Exit): void {
    if (seat === this.coordinator && this.#hadNoRoom(exit)) {
      this.#startsRefused++
      void this.#startAgain(seat)
      return
    }
    this.unexpectedExits.push(`${seat.name}.${seat.life} exited by itself, ${describeExit(exit)}`)
    const isReplaceable = seat !== this.witness && this.unexpectedExits.length < ownEndsMax
    if (isReplaceable) seat.start()
    else
      this.#broken.abort(
        new Error(`too many processes exited by themselves:\n${this.unexpectedExits.join('\n')}`),
      )
  }

  #hadNoRoom(exit: Exit): boolean {
    const last = new Tail(() => this.coordinatorOutput).read().at(-1)
    return isDiskFullExit(exit, last, this.#journal.wasFullWithin(startingMs))
  }

  async #startAgain(seat: Seat): Promise<void> {
    await setTimeout(startAgainMs, undefined, { ref: false })
    if (!this.#isEnding && seat.mode === 'down') seat.start()
  }

  #launchCoordinator(life: number): Child {
    const { data, coordinator, errors } = this.#places
    const ports = ['--port', `${this.#coordinatorPort}`, '--http-port', `${this.httpPort}`]
    const replay = ['--replay-max', `${replayMsMax(this.#tasksPerSecond)}ms`]
    return new Child({
      program: coordinatorProgram,
      args: ['--data-dir', data, ...ports, ...coordinatorArgs, ...replay],
      env: {},
      outputPath: join(coordinator, `${life}.jsonl`),
      errorPath: errors,
    })
  }

  #launchWitness(): Child {
    const { data, records, errors } = this.#places
    const args = [data, records]
    return new Child({
      program: witnessProgram,
      args,
      env: {},
      outputPath: errors,
      errorPath: errors,
    })
  }

  /** Each life has a name of its own: a lease belongs to one process and no other. */
  #launchWorker(isolation: IsolationKind, name: string): Child {
    const { workers, executions, errors } = this.#places
    const { concurrency, queues } = crews[isolation]
    const crew = ['--concurrency', `${concurrency}`, '--queues', queues.join(',')]
    const where = ['--coordinator', `127.0.0.1:${this.port}`, '--name', name]
    const what = ['--handler', handlerModule, '--isolation', isolation]
    return new Child({
      program: workerProgram,
      args: [...where, ...what, ...crew, ...workerArgs],
      env: { CHAOS_EXECUTIONS: join(executions, `${name}.jsonl`), CHAOS_WORKER: name },
      outputPath: join(workers, `${name}.jsonl`),
      errorPath: errors,
    })
  }
}

/** A checkpoint is due when half of this must be replayed since the last one. */
function replayMsMax(tasksPerSecond: number): number {
  const dueMs = (checkpointEveryS * tasksPerSecond * recordsPerTask) / replayedPerMs
  return Math.max(replayMsMin, Math.round(2 * dueMs))
}

/**
 * docs/operations.md, A full disk: a later start on a full disk exits like this and changes
 * nothing. It had no space for another segment, or not enough in the segment that was kept for this
 * start.
 */
export function isDiskFullExit(
  { code }: Exit,
  last: CoordinatorLine | undefined,
  wasFull: boolean,
): boolean {
  if (code !== 1 || !wasFull || !last?.msg.startsWith('startup failed: ')) return false
  return (
    last.code === 'WAL_NO_SPACE' ||
    last.msg.includes('the disk has no space to record expired leases')
  )
}

async function stopCleanly(seat: Seat): Promise<string[]> {
  const exit = await seat.stop()
  if (exit?.code === 0) return []
  return [`${seat.name}.${seat.life} was told to stop and exited ${describeExit(exit)}`]
}

function describeExit(exit: Exit | undefined): string {
  return exit?.signal ? `by ${exit.signal}` : `with code ${exit?.code}`
}

const coordinatorProgram = programOf(import.meta.resolve('@tenure/coordinator/package.json'))
const workerProgram = programOf(import.meta.resolve('@tenure/worker/package.json'))

/** The module whose default export the workers run. */
const handlerModule = fileURLToPath(new URL('./handler.js', import.meta.url))

/** The program that copies the log. */
const witnessProgram = fileURLToPath(new URL('../evidence/witness.js', import.meta.url))
