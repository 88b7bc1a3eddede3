import { type Link, openLink, TenureError } from '@tenure/client'
import type { NewRequest } from '@tenure/protocol'
import type { RogueOperation, RogueStep } from '../scenario/scenario.js'
import type { Machine } from './machine.js'
import { Process } from './process.js'
import { Seat } from './seat.js'
import type { Stage } from './stage.js'

interface Held {
  readonly taskId: number
  readonly leaseId: number
}

/**
 * A worker that breaks the contract: it reports late, twice, under foreign or invented leases, or
 * not at all. It uses the shipped link, so its messages are well formed.
 */
export class RogueSeat extends Seat {
  readonly #process: Process
  #count = 0
  #isShutDown = false
  readonly #links = new Set<Link>()

  constructor(stage: Stage, machines: readonly Machine[], number: number) {
    super(stage, machines, `rogue ${number}`)
    this.#process = new Process(stage.clock)
  }

  carryOut(operation: RogueOperation): void {
    if (!this.#isShutDown) this.stage.wait(this.#carryOut(operation).catch(ignoreEnd))
  }

  async shutDown(): Promise<void> {
    this.#isShutDown = true
    await Promise.all([...this.#links].map((link) => link.close()))
  }

  /** Uses a new name each time, because checks find the queues of a lease request by the name. */
  async #carryOut({ queue, steps }: RogueOperation): Promise<void> {
    const name = `${this.address}.${++this.#count}`
    this.stage.serves(name, [queue])
    const connectTimeoutMs = 3000
    const link = await openLink({
      ...this.link(name, this.#process),
      role: 'work',
      connectTimeoutMs,
    })
    if (this.#isShutDown) return link.close()
    this.#links.add(link)
    const answer = await link.request({ kind: 'lease', queues: [queue], waitMs: 500 })
    const own = answer.kind === 'leased' ? answer : undefined
    await Promise.all(steps.map((step) => this.#take(link, name, step, own).catch(ignoreEnd)))
    this.#links.delete(link)
    await link.close()
  }

  async #take(link: Link, name: string, step: RogueStep, own: Held | undefined): Promise<void> {
    await link.pause(step.afterMs)
    const lease = this.#leaseOf(step, name, own)
    if (lease !== undefined) await link.request(sayOf(step, lease))
  }

  #leaseOf({ lease }: RogueStep, name: string, own: Held | undefined): Held | undefined {
    switch (lease) {
      case 'own':
        return own
      case 'foreign':
        return this.stage.ledger.newestLeaseBeside(name)
      case 'made up':
        return { taskId: own?.taskId ?? 1, leaseId: 1_000_000 }
    }
  }
}

function sayOf({ says, reportId: id }: RogueStep, { taskId, leaseId }: Held): NewRequest {
  const reportId = id === null ? {} : { reportId: `${id} of ${leaseId}` }
  const lease = { taskId, leaseId }
  switch (says) {
    case 'heartbeat':
      return { kind: 'heartbeat', ...lease }
    case 'complete':
      return { kind: 'complete', ...lease, ...reportId, result: Buffer.from('of a rogue') }
    case 'complete otherwise':
      return { kind: 'complete', ...lease, ...reportId, result: Buffer.from('of a rogue, again') }
    case 'fail':
      return { kind: 'fail', ...lease, ...reportId, reason: 'of a rogue' }
  }
}

/** The link was told to end, or could not reach the coordinator. */
function ignoreEnd(error: unknown): void {
  if (!(error instanceof TenureError)) throw error
}
