import type { Clock } from '@tenure/seams'
import { type Fate, MemoryEngine, type Passage } from '@tenure/shared-log'
import {
  apply,
  decodeRecord,
  encodeRecord,
  hashState,
  position,
  type State,
} from '@tenure/state-machine'
import { Random, SimulatedClock, SimulatedDisk } from '@tenure/testing'
import { type Log, openLog } from '@tenure/wal'
import { recover } from '../src/core/recovery.js'
import { CopyClock } from '../src/replica/copy-clock.js'
import { Replica } from '../src/replica/replica.js'
import { ReplicaTime } from '../src/replica/replica-time.js'

export const identity = { logId: '00112233445566778899aabbccddeeff', era: 1 }
export const ttlMs = 2000

export interface ClusterOptions {
  readonly nodes?: number
  readonly seed?: number
  readonly bytesMax?: number
  readonly fateOf?: (passage: Passage) => Fate | Promise<Fate>
}

/** Several coordinators' replicas on one engine, in virtual time. */
export class Cluster {
  readonly clock = new SimulatedClock({ startMs: Date.UTC(2026, 6, 1) })
  readonly engine: MemoryEngine
  readonly nodes: Node[]
  readonly random: Random
  /** Every acknowledged record, by LSN. */
  readonly acknowledged = new Map<number, string>()
  readonly problems: string[] = []
  #writers = 0

  constructor({ nodes = 2, seed = 1, bytesMax, fateOf }: ClusterOptions = {}) {
    this.random = new Random(seed)
    this.engine = new MemoryEngine({ clock: this.clock, bytesMax, fateOf })
    this.nodes = Array.from({ length: nodes }, (_, index) => new Node(this, `node-${index}`))
  }

  addNode(): Node {
    const node = new Node(this, `node-${this.nodes.length}`)
    this.nodes.push(node)
    return node
  }

  newWriter(): string {
    this.#writers++
    return String(this.#writers).padStart(16, '0')
  }

  get leader(): Node | undefined {
    return this.nodes.find((node) => node.replica?.isLeading)
  }

  /** Advances until a node leads, at most a minute. */
  async untilLed(): Promise<Node> {
    for (let step = 0; step < 600; step++) {
      const { leader } = this
      if (leader !== undefined) return leader
      await this.clock.advance(100)
    }
    throw new Error(`no leader: ${this.nodes.map((node) => node.describe()).join('; ')}`)
  }

  get lastAcknowledged(): number {
    return Math.max(0, ...this.acknowledged.keys())
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) node.kill()
  }
}

/** One coordinator's machine. Its process can be killed, and started again. */
export class Node {
  readonly cluster: Cluster
  readonly name: string
  disk = new SimulatedDisk({ recordCalls: false })
  /** How far this machine's wall clock is ahead. */
  skewMs = 0
  replica: Replica | undefined
  state: State | undefined
  copy: Log | undefined
  failure: unknown
  isStalled = false
  #life = 0
  #process = this.disk.process()
  #abort = new AbortController()

  constructor(cluster: Cluster, name: string) {
    this.cluster = cluster
    this.name = name
  }

  get isUp(): boolean {
    return this.replica !== undefined && this.failure === undefined
  }

  /** Starts the process. It follows, and leads when it can. Resolves when the copy was opened. */
  async start(): Promise<void> {
    const { cluster } = this
    const life = ++this.#life
    this.failure = undefined
    this.#abort = new AbortController()
    this.#process = this.disk.process()
    const clock = this.#clock()
    const copyClock = new CopyClock(clock)
    try {
      const copy = await openLog('/data', {
        copyOf: identity,
        disk: this.#process,
        clock: copyClock,
        segmentBytes: 64 * 1024,
        appendBytesMax: 16 * 1024,
      })
      if (life !== this.#life) return
      this.copy = copy
      const state = await recover(copy, { hashKey: 7 })
      this.state = state
      const replica = new Replica({
        shared: cluster.engine.connect(this.name),
        copy,
        copyClock,
        state,
        clock,
        time: new ReplicaTime(clock),
        identity,
        ttlMs,
        address: `${this.name}:7411`,
        writer: cluster.newWriter(),
        entryBytesMax: 16 * 1024,
        otherCopies: async () =>
          cluster.nodes
            .filter((node) => node !== this && node.isUp)
            .map((node) => node.replica!.end),
        observer: {
          stalled: (isStalled) => {
            this.isStalled = isStalled
          },
        },
        onFailure: (error) => this.#fail(life, error),
      })
      this.replica = replica
      replica.lead(this.#abort.signal).catch((error: unknown) => this.#fail(life, error))
    } catch (error) {
      this.#fail(life, error)
    }
  }

  /** SIGKILL. Unsynced data stays in the machine's memory. */
  kill(): void {
    this.#life++
    this.#process.kill()
    this.#abort.abort()
    void this.replica?.close()
    this.replica = undefined
    this.copy = undefined
  }

  /** The machine loses power: what was not synced may be gone. */
  losePower(): void {
    this.kill()
    this.disk = this.disk.powerLoss({ random: this.cluster.random })
  }

  /** Appends a task, and notes its acknowledgement. */
  async submit(text: string): Promise<void> {
    const { cluster, replica } = this
    if (replica === undefined) return
    const life = this.#life
    const lsn = replica.nextLsn
    const record = encodeRecord({
      type: 'TaskCreated',
      at: 1,
      taskId: lsn,
      payload: Buffer.from(text),
      executionWindowMs: 60_000,
      retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } },
    })
    try {
      await replica.append(lsn, record, replica.claim(record.length, 'high'))
    } catch {
      return
    }
    if (life !== this.#life) return
    // As the coordinator does with a durable record.
    apply(this.state!, lsn, decodeRecord(record))
    const before = cluster.acknowledged.get(lsn)
    if (before !== undefined) cluster.problems.push(`LSN ${lsn} is "${before}" and "${text}"`)
    cluster.acknowledged.set(lsn, text)
  }

  /** A question: its answer must know everything that was acknowledged before it was asked. */
  async ask(): Promise<void> {
    const { cluster, replica } = this
    if (replica === undefined) return
    const life = this.#life
    const acknowledged = cluster.lastAcknowledged
    const known = replica.durableLsn
    try {
      await replica.confirm()
    } catch {
      return
    }
    if (life !== this.#life) return
    if (known < acknowledged) {
      cluster.problems.push(`${this.name} answered with LSN ${known}, after ${acknowledged}`)
    }
  }

  describe(): string {
    const { replica, failure } = this
    return `${this.name}: ${String(failure)}, ${JSON.stringify(replica?.end)}, ${replica?.silentMs}`
  }

  get stateHash(): string {
    return `${position(this.state!).lastLsn} ${hashState(this.state!)}`
  }

  #fail(life: number, error: unknown): void {
    if (life !== this.#life) return
    this.failure = error
    const { cluster } = this
    const code = (error as { code?: string }).code
    if (code !== 'LEADERSHIP_LOST') cluster.problems.push(`${this.name}: ${String(error)}`)
    this.kill()
    this.failure = error
  }

  #clock(): Clock {
    const { clock } = this.cluster
    return {
      now: () => clock.now() + this.skewMs,
      monotonicMs: () => clock.monotonicMs(),
      setTimer: (delayMs, callback) => clock.setTimer(delayMs, callback),
      soon: (callback) => clock.soon(callback),
    }
  }
}
