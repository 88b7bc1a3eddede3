import type { Answer, AnswerKind, Request } from '@tenure/protocol'
import {
  checkInvariants,
  hashState,
  type LogRecord,
  position,
  type State,
} from '@tenure/state-machine'
import { SimulatedClock, SimulatedDisk } from '@tenure/testing'
import { type Log, openLog } from '@tenure/wal'
import { Coordinator } from '../src/core/coordinator.js'
import type { CoordinatorObserver } from '../src/core/coordinator-parts.js'
import type { Session } from '../src/core/pending-request.js'
import { recover } from '../src/core/recovery.js'
import { DecisionTime } from '../src/decide/decision-time.js'
import { defaultKnobs, type Knobs } from '../src/decide/knobs.js'
import { WorkerRegistry } from '../src/decide/worker-registry.js'
import type { HistoryReader } from '../src/history/history-page.js'
import { type Life, mortalClock } from './mortal-clock.js'

export const directory = '/data'

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never
type Asking = WithoutId<Request>

/** A machine that runs a coordinator: the real one, on a simulated disk and clock. */
export class World {
  disk: SimulatedDisk
  readonly clock: SimulatedClock
  readonly knobs: Knobs
  readonly failures: unknown[] = []
  /** The types of the records applied while a coordinator ran, in order. */
  readonly applied: LogRecord['type'][] = []
  /** Wraps the log of the next start. */
  alterLog: (log: Log) => void = () => {}
  #running: Running | undefined
  #nextId = 1

  constructor(knobs: Partial<Knobs> = {}, disk = new SimulatedDisk()) {
    this.knobs = { ...defaultKnobs, ...knobs }
    this.disk = disk
    this.clock = new SimulatedClock({ startMs: 1_700_000_000_000 })
  }

  /** A world in which the coordinator has started. */
  static async started(knobs: Partial<Knobs> = {}): Promise<World> {
    const world = new World(knobs)
    await world.start()
    return world
  }

  get coordinator(): Coordinator {
    return this.#part('coordinator')
  }

  get state(): State {
    return this.#part('state')
  }

  get registry(): WorkerRegistry {
    return this.#part('registry')
  }

  get log(): Log {
    return this.#part('log')
  }

  async start(observer: CoordinatorObserver = {}, history?: HistoryReader): Promise<void> {
    const life = { isOver: false }
    const clock = mortalClock(this.clock, life)
    const log = await openLog(directory, { ...this.#logOptions(), disk: this.disk, clock })
    this.alterLog(log)
    const state = await recover(log)
    const latest = Math.max(log.recovery.latestClockMs ?? 0, position(state).lastAt)
    const registry = new WorkerRegistry()
    const coordinator = new Coordinator({
      state,
      log,
      clock,
      registry,
      knobs: this.knobs,
      observer: { ...observer, applied: (record) => this.#noteApplied(record, observer) },
      time: new DecisionTime(clock, latest),
      history,
      onFailure: (error) => {
        if (!life.isOver) this.failures.push(error)
      },
    })
    this.#running = { log, state, registry, coordinator, life }
    await coordinator.start()
  }

  async stop(): Promise<void> {
    await this.coordinator.stop()
    await this.log.close()
    this.#running = undefined
  }

  /** Cuts the power, which loses unsynced data, and starts the machine again. */
  async crash(): Promise<void> {
    this.#part('life').isOver = true
    this.disk = this.disk.powerLoss({ keep: () => false })
    this.#running = undefined
    await this.start()
  }

  /** Sends a request and waits for its answer without advancing time. */
  async ask(asking: Asking, session: Session = client): Promise<Answer> {
    const answers = this.send(asking, session)
    await this.clock.settle()
    const [answer] = answers
    if (answer === undefined) throw new Error(`${asking.kind} was not answered`)
    return answer
  }

  /** Sends a request; answers are added to the list as they arrive. */
  send(asking: Asking, session: Session = client): Answer[] {
    const answers: Answer[] = []
    const request = { ...asking, id: this.#nextId++ } as Request
    this.coordinator.handle(request, session, (answer) => answers.push(answer))
    return answers
  }

  /** The answer, which must be of this kind. */
  async expect<K extends AnswerKind>(
    kind: K,
    asking: Asking,
    session: Session = client,
  ): Promise<Extract<Answer, { kind: K }>> {
    const answer = await this.ask(asking, session)
    if (answer.kind !== kind) throw new Error(`${asking.kind}: ${JSON.stringify(answer)}`)
    return answer as Extract<Answer, { kind: K }>
  }

  async submit(options: Partial<Extract<Asking, { kind: 'submit' }>> = {}): Promise<number> {
    const { taskId } = await this.expect('submitted', {
      kind: 'submit',
      payload: Buffer.from('work'),
      ...options,
    })
    return taskId
  }

  lease(session: Session = worker, queues: readonly string[] = ['default']) {
    return this.expect('leased', { kind: 'lease', queues, waitMs: 0 }, session)
  }

  /** The live state and a replay of the log are equal and valid. */
  async check(): Promise<void> {
    checkInvariants(this.state)
    const live = hashState(this.state)
    const copy = new World(
      this.knobs,
      SimulatedDisk.from(this.disk.snapshot()).powerLoss({ keep: () => false }),
    )
    const log = await openLog(directory, {
      disk: copy.disk,
      clock: this.clock,
      segmentBytes: 1 << 20,
    })
    const replayed = await recover(log)
    checkInvariants(replayed)
    if (hashState(replayed) !== live) throw new Error('a replay gives another state')
    await log.close()
  }

  #noteApplied(record: LogRecord, { applied }: CoordinatorObserver): void {
    this.applied.push(record.type)
    applied?.(record)
  }

  #logOptions() {
    const randomBytes = (count: number) => new Uint8Array(count).fill(0xa5)
    return { clock: this.clock, segmentBytes: 1 << 20, randomBytes }
  }

  #part<P extends keyof Running>(part: P): Running[P] {
    if (this.#running === undefined) throw new Error('the coordinator is not running')
    return this.#running[part]
  }
}

interface Running {
  readonly log: Log
  readonly state: State
  readonly registry: WorkerRegistry
  readonly coordinator: Coordinator
  readonly life: Life
}

export const client: Session = { name: 'client' }
export const worker: Session = { name: 'w1' }
export const otherWorker: Session = { name: 'w2' }
