import type { LinkOptions } from '@tenure/client'
import { clientTransport } from './client-transport.js'
import type { Machine } from './machine.js'
import type { Process } from './process.js'
import type { Stage } from './stage.js'

/** A peer of the coordinator, with the number by which faults address it. */
export class Seat {
  readonly address: string
  readonly stage: Stage
  readonly machine: Pick<Machine, 'isOff'>
  #isPartitioned = false
  #onPartitionMet: () => void = () => {}

  constructor(stage: Stage, machine: Pick<Machine, 'isOff'>, address: string) {
    this.stage = stage
    this.machine = machine
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
    return this.stage.network.connections.filter(({ far }) => far.address === this.address)
  }

  /** The options of a link for the process `name`. */
  link(name: string, process: Process): LinkOptions {
    const { stage, machine, address } = this
    const random = stage.randomOf(name)
    let ids = 0
    return {
      endpoints: ['coordinator:7411'],
      name,
      clock: process.clock,
      attemptTimeoutMs: 1000,
      requestTimeoutMs: 4000,
      keepAliveMs: 2000,
      backoff: { initialMs: 50, maxMs: 1000 },
      random: { next: () => random.next(), id: () => `${name}-${++ids}` },
      transport: clientTransport({
        network: stage.network,
        address,
        process,
        isOpen: () => !this.#meetsPartition() && !machine.isOff,
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
