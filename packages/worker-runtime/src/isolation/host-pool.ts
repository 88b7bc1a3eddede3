import { WorkerError } from '../errors.js'
import type { Work } from '../handler.js'
import { HostSeat, type StartHost } from './host-seat.js'
import type { Isolation, Run, RunEvents } from './isolation.js'

/**
 * Handlers in hosts of their own, one task at a time in each. A host is started when no other is
 * free, and used again as long as its handlers end by themselves; so there are never more hosts than
 * tasks ran at once.
 */
export class HostPool implements Isolation {
  readonly #start: StartHost
  readonly #all = new Set<HostSeat>()
  /** The one that was busy last comes first: its memory is warm. */
  readonly #free: HostSeat[] = []
  readonly #onCrash: (reason: string) => void

  /** `onCrash` hears of hosts that ended while no task ran in them. */
  constructor(start: StartHost, onCrash: (reason: string) => void) {
    this.#start = start
    this.#onCrash = onCrash
  }

  /** One is started at once: a handler that cannot be loaded shows before a task is leased. */
  async start(): Promise<void> {
    const seat = this.#open()
    const failure = await seat.loaded
    if (failure !== undefined) throw new WorkerError('WORKER_BAD_HANDLER', failure)
    this.#free.push(seat)
  }

  run(work: Work, events: RunEvents): Run {
    const seat = this.#free.pop() ?? this.#open()
    return seat.run(work, events)
  }

  async close(): Promise<void> {
    this.#free.length = 0
    const seats = [...this.#all]
    for (const seat of seats) seat.kill()
    await Promise.all(seats.map(({ gone }) => gone))
  }

  #open(): HostSeat {
    const seat = new HostSeat(this.#start, {
      freed: (seat) => this.#free.push(seat),
      gone: (seat, why) => this.#remove(seat, why),
    })
    this.#all.add(seat)
    return seat
  }

  #remove(seat: HostSeat, why: string): void {
    this.#all.delete(seat)
    const at = this.#free.indexOf(seat)
    if (at === -1) return
    this.#free.splice(at, 1)
    this.#onCrash(why)
  }
}
