import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Random } from '@tenure/testing'
import { type IsolationKind, isolations } from '@tenure/worker-runtime'
import { Child, type Exit } from './child.js'
import { Network } from './network.js'
import { findPort } from './ports.js'
import { coordinatorProgram, handlerModule, workerProgram } from './program.js'
import { Seat } from './seat.js'
import type { Queue } from './work.js'

/** Without a heartbeat a worker owns its task for so long. */
export const leaseMs = 2000

/** Short leases, so that much happens; and nothing is forgotten before it was looked at. */
const coordinatorArgs = [
  ...['--lease-duration', `${leaseMs}ms`, '--heartbeat-interval', '500ms'],
  ...['--retention', '365d', '--retention-tasks', '100000000'],
]

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

/** The places of a run's files. */
export class Places {
  readonly root: string
  readonly data: string
  readonly executions: string
  readonly workers: string
  readonly coordinator: string
  readonly errors: string
  readonly acknowledged: string

  constructor(root: string) {
    this.root = root
    this.data = join(root, 'data')
    this.executions = join(root, 'executions')
    this.workers = join(root, 'workers')
    this.coordinator = join(root, 'coordinator')
    this.errors = join(root, 'errors.txt')
    this.acknowledged = join(root, 'acknowledged.jsonl')
    for (const directory of [this.executions, this.workers, this.coordinator]) mkdirSync(directory)
  }
}

interface Ports {
  readonly coordinator: number
  readonly http: number
  readonly network: number
}

/** The coordinator and the workers, each a process of the real binary in a seat of its own. */
export class Fleet {
  readonly port: number
  readonly httpPort: number
  /** All but the metrics go through it. */
  readonly network: Network
  readonly coordinator: Seat
  readonly workers: readonly Seat[]
  /** Processes that ended though nobody had told them to. Others took their places. */
  readonly ownEnds: string[] = []
  readonly #broken = new AbortController()
  readonly #places: Places
  readonly #coordinatorPort: number

  private constructor(places: Places, workersOfEach: number, network: Network, ports: Ports) {
    this.#places = places
    this.network = network
    this.port = ports.network
    this.httpPort = ports.http
    this.#coordinatorPort = ports.coordinator
    const onOwnEnd = (seat: Seat, exit: Exit) => this.#onOwnEnd(seat, exit)
    this.coordinator = new Seat('coordinator', (life) => this.#launchCoordinator(life), onOwnEnd)
    this.workers = isolations.flatMap((isolation) =>
      Array.from({ length: workersOfEach }, (_, index) => {
        const name = `${isolation}-${index + 1}`
        return new Seat(name, (life) => this.#launchWorker(isolation, `${name}.${life}`), onOwnEnd)
      }),
    )
  }

  static async open(places: Places, workersOfEach: number, random: Random): Promise<Fleet> {
    const ports = {
      coordinator: await findPort(random),
      http: await findPort(random),
      network: await findPort(random),
    }
    const network = await Network.open(ports.network, ports.coordinator)
    return new Fleet(places, workersOfEach, network, ports)
  }

  /** Aborts when so many processes end by themselves that there is no point in going on. */
  get broken(): AbortSignal {
    return this.#broken.signal
  }

  get seats(): readonly Seat[] {
    return [this.coordinator, ...this.workers]
  }

  /** Stops the workers as an operator would; gives what did not end as it should. */
  async stopWorkers(): Promise<string[]> {
    const ends = await Promise.all(this.workers.map(stopWell))
    return ends.flat()
  }

  async stopCoordinator(): Promise<string[]> {
    return stopWell(this.coordinator)
  }

  /** What is left of processes that are gone, after the time that it may take them to see it. */
  async leftovers(): Promise<string[]> {
    const left = () => this.seats.filter((seat) => seat.leftovers > 0)
    for (let look = 0; look < 50 && left().length > 0; look++) await setTimeout(100)
    return left().map((seat) => `${seat.name} left ${seat.leftovers} groups of processes running`)
  }

  /** At once, whatever state it is in; settles when all are gone. */
  async end(): Promise<void> {
    this.network.close()
    await Promise.all(this.seats.map((seat) => seat.end()))
  }

  #onOwnEnd(seat: Seat, exit: Exit): void {
    this.ownEnds.push(`${seat.name}.${seat.life} ended by itself, ${describeExit(exit)}`)
    if (this.ownEnds.length < ownEndsMax) seat.start()
    else this.#broken.abort(new Error(`too many to go on:\n${this.ownEnds.join('\n')}`))
  }

  #launchCoordinator(life: number): Child {
    const { data, coordinator, errors } = this.#places
    const ports = ['--port', `${this.#coordinatorPort}`, '--http-port', `${this.httpPort}`]
    return new Child({
      program: coordinatorProgram,
      args: ['--data-dir', data, ...ports, ...coordinatorArgs],
      env: {},
      outputPath: join(coordinator, `${life}.jsonl`),
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

async function stopWell(seat: Seat): Promise<string[]> {
  const exit = await seat.stop()
  if (exit?.code === 0) return []
  return [`${seat.name}.${seat.life} was told to stop, and ended ${describeExit(exit)}`]
}

function describeExit(exit: Exit | undefined): string {
  return exit?.signal ? `by ${exit.signal}` : `with code ${exit?.code}`
}
