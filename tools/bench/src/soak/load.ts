import { setTimeout as pause } from 'node:timers/promises'
import { type Link, type NewRequest, openLink } from '@tenure/client'

export type Kind = 'submit' | 'lease' | 'heartbeat' | 'complete'

/** Receives how long each request took. */
export type Note = (kind: Kind, ms: number) => void

const connections = 4
const tickMs = 2
const payload = Buffer.alloc(100, 7)
/** One attempt in this many sends a heartbeat. */
const heartbeatEvery = 10

/**
 * Whole lives of tasks, started at a steady rate whether or not earlier lives have ended. A
 * coordinator that pauses delays all lives that start meanwhile, as it would delay real clients.
 */
export class Load {
  readonly #links: readonly Link[]
  readonly #note: Note
  readonly #living = new Set<Promise<void>>()
  #begun = 0
  completed = 0

  private constructor(links: readonly Link[], note: Note) {
    this.#links = links
    this.#note = note
  }

  static async connect(port: number, note: Note): Promise<Load> {
    const links = Array.from({ length: connections }, (_, index) =>
      openLink({ endpoints: [`127.0.0.1:${port}`], role: 'admin', name: `load-${index}` }),
    )
    return new Load(await Promise.all(links), note)
  }

  /** Settles when the signal has fired and every started life has ended. */
  async run(livesPerSecond: number, signal: AbortSignal): Promise<void> {
    const startedMs = performance.now()
    while (!signal.aborted) {
      const due = ((performance.now() - startedMs) / 1000) * livesPerSecond
      while (this.#begun < due) this.#begin()
      await pause(tickMs)
    }
    await Promise.all(this.#living)
  }

  async close(): Promise<void> {
    await Promise.all(this.#links.map((link) => link.close()))
  }

  #begin(): void {
    const number = this.#begun++
    const life = this.#live(this.#links[number % connections]!, number % heartbeatEvery === 0)
    this.#living.add(life)
    life.then(() => this.#living.delete(life)).catch(() => {})
  }

  async #live(link: Link, sendsHeartbeat: boolean): Promise<void> {
    await this.#ask(link, 'submitted', { kind: 'submit', payload })
    const leased = await this.#ask(link, 'leased', {
      kind: 'lease',
      queues: ['default'],
      waitMs: 0,
    })
    const { taskId, leaseId } = leased as { taskId: number; leaseId: number } & typeof leased
    if (sendsHeartbeat) await this.#ask(link, 'extended', { kind: 'heartbeat', taskId, leaseId })
    await this.#ask(link, 'committed', { kind: 'complete', taskId, leaseId })
    this.completed++
  }

  async #ask(link: Link, expected: string, request: NewRequest & { readonly kind: Kind }) {
    const sentMs = performance.now()
    const answer = await link.request(request)
    this.#note(request.kind, performance.now() - sentMs)
    if (answer.kind !== expected) throw new Error(`${request.kind}: ${JSON.stringify(answer)}`)
    return answer
  }
}
