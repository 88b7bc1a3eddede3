import type { LinkOptions } from '@tenure/client'
import { clientTransport } from './client-transport.js'
import type { Machine } from './machine.js'
import type { Process } from './process.js'
import type { Stage } from './stage.js'

/** A peer of the coordinator, with the number by which faults address it. */
export class Seat {
  readonly address: string
  readonly stage: Stage
  /** Of all coordinators. */
  readonly machines: readonly Machine[]
  #isPartitioned = false
  #onPartitionMet: () => void = () => {}

  constructor(stage: Stage, machines: readonly Machine[], address: string) {
    this.stage = stage
    this.machines = machines
    this.address = address
  }

  /**
   * Blocks new connections and stalls existing ones. `onMet` is called when that affects a peer.
   */
  partition(onMet: () => void): void {
    this.#isPartitioned = true
    this.#onPartitionMet = once(onMet)
    const { connections } = this
    if (connections.length > 0) this.#onPartitionMet()
    for (const { near, far } of connections) {
      near.hold()
      far.hold()
    }
  }

  /** Ends the partition. */
  reunite(): void {
    this.#isPartitioned = false
    for (const { near, far } of this.connections) {
      near.release()
      far.release()
    }
  }

  get connections() {
    return this.machines
      .flatMap(({ network }) => network.connections)
      .filter(({ far }) => far.address === this.address)
  }

  /** The options of a link for the process `name`. */
  link(name: string, process: Process): LinkOptions {
    const { stage, machines, address } = this
    const random = stage.randomOf(name)
    let ids = 0
    return {
      endpoints: machines.map((machine) => machine.address),
      name,
      clock: process.clock,
      attemptTimeoutMs: 1000,
      requestTimeoutMs: 4000,
      keepAliveMs: 2000,
      backoff: { initialMs: 50, maxMs: 1000 },
      random: { next: () => random.next(), id: () => `${name}-${++ids}` },
      transport: clientTransport({
        reach: ({ host, port }) => {
          const machine = machines.find((one) => one.address === `${host}:${port}`)
          if (machine === undefined) throw new Error(`there is no coordinator at ${host}:${port}`)
          return this.#meetsPartition() || machine.isOff ? undefined : machine.network
        },
        address,
        process,
        listenIn: () => stage.listenIn(name),
      }),
    }
  }

  #meetsPartition(): boolean {
    if (this.#isPartitioned) this.#onPartitionMet()
    return this.#isPartitioned
  }
}

function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) action()
    isDone = true
  }
}
