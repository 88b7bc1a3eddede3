import { getTask } from '@tenure/state-machine'
import type { Random } from '@tenure/testing'
import { Book } from './book.js'

/**
 * A random history with many troubles: short windows, few retries, delayed tasks; workers that crash, stall,
 * fail and report too late; coordinator restarts; killed and forgotten tasks.
 */
export function randomBook(random: Random, steps = 200): Book {
  const book = new Book({ leaseMs: 100 })
  const world = new World(book, random)
  for (let step = 0; step < steps; step++) world.step()
  return book
}

class World {
  readonly #book: Book
  readonly #random: Random
  readonly #tasks: number[] = []
  #running: { readonly taskId: number; readonly leaseId: number }[] = []
  /** Lost leases whose workers may not know it. */
  #lost: { readonly taskId: number; readonly leaseId: number }[] = []

  constructor(book: Book, random: Random) {
    this.#book = book
    this.#random = random
  }

  step(): void {
    const moves = [
      ...[this.#pass, this.#pass, this.#submit, this.#lease, this.#lease, this.#lease],
      ...[this.#extend, this.#extend, this.#complete, this.#fail, this.#reportLate],
      ...[this.#rarely, this.#pass],
    ]
    this.#random.pick(moves).call(this)
  }

  #rarely(): void {
    if (!this.#random.chance(0.3)) return
    this.#random.pick([this.#restart, this.#kill, this.#forget]).call(this)
  }

  #pass(): void {
    this.#book.wait(this.#random.integer(80))
    this.#expire(false)
  }

  #restart(): void {
    this.#book.wait(this.#random.integer(300)).restart()
    this.#expire(true)
  }

  #expire(atStart: boolean): void {
    for (const lease of [...this.#running]) {
      if (this.#expiryOf(lease) > this.#book.now) continue
      this.#book.expire(lease.leaseId, atStart)
      this.#end(lease)
      this.#lost.push(lease)
    }
  }

  #submit(): void {
    const { now } = this.#book
    const random = this.#random
    const backoff = random.chance(0.5)
      ? ({ kind: 'fixed', delayMs: random.integer(50) } as const)
      : ({ kind: 'exponential', initialMs: 1 + random.integer(20), maxMs: 70 } as const)
    const task = {
      executionWindowMs: random.pick([100, 150, 1000]),
      retryPolicy: { maxRetries: random.integer(4), backoff },
    }
    const isLater = random.chance(0.2)
    const submission = isLater ? { ...task, notBefore: now + random.integer(100) } : task
    this.#tasks.push(this.#book.submit(submission))
  }

  #lease(): void {
    const eligible = this.#tasks.filter((taskId) => {
      const task = getTask(this.#book.state, taskId)
      return task?.state === 'WAITING' && task.eligibleAt! <= this.#book.now
    })
    if (eligible.length === 0) return
    // Prefers the first ones, so that some tasks run often.
    const taskId = this.#random.pick(eligible.slice(0, 3))
    const workerId = `w-${this.#random.integer(4)}`
    this.#running.push({ taskId, leaseId: this.#book.lease(taskId, workerId) })
  }

  #extend(): void {
    const lease = this.#anyOf(this.#running)
    if (lease === undefined) return
    const { executionWindowMs, attempts } = getTask(this.#book.state, lease.taskId)!
    const { grantedAt, leaseExpiry } = attempts.at(-1)!
    const next = Math.min(this.#book.now + this.#book.leaseMs, grantedAt + executionWindowMs)
    if (next > leaseExpiry) this.#book.extend(lease.leaseId)
  }

  #complete(): void {
    const lease = this.#anyOf(this.#running)
    if (lease === undefined || this.#random.chance(0.5)) return
    this.#book.complete(lease.leaseId)
    this.#end(lease)
  }

  #fail(): void {
    const lease = this.#anyOf(this.#running)
    if (lease === undefined) return
    this.#book.fail(lease.leaseId, `reason ${this.#book.nextLsn}`)
    this.#end(lease)
  }

  #reportLate(): void {
    const lease = this.#anyOf(this.#lost)
    if (lease === undefined) return
    this.#lost = this.#lost.filter((other) => other !== lease)
    const task = getTask(this.#book.state, lease.taskId)
    // The coordinator rejects reports about forgotten tasks and about attempts older than the last 32.
    if (!task?.attempts.some(({ leaseId }) => leaseId === lease.leaseId)) return
    this.#book.cancel(lease.leaseId)
  }

  #kill(): void {
    const taskId = this.#anyOf(this.#tasks)
    const task = taskId === undefined ? undefined : getTask(this.#book.state, taskId)
    if (task === undefined || (task.state !== 'WAITING' && task.state !== 'LEASED')) return
    this.#book.kill(task.taskId)
    const lease = this.#running.find((other) => other.taskId === task.taskId)
    if (lease === undefined) return
    this.#end(lease)
    this.#lost.push(lease)
  }

  #forget(): void {
    const { nextLsn } = this.#book
    if (nextLsn > 1) this.#book.forget(1 + this.#random.integer(nextLsn - 1))
  }

  #expiryOf({ taskId }: { readonly taskId: number }): number {
    return getTask(this.#book.state, taskId)!.attempts.at(-1)!.leaseExpiry
  }

  #end(lease: object): void {
    this.#running = this.#running.filter((other) => other !== lease)
  }

  #anyOf<T>(items: readonly T[]): T | undefined {
    return items.length === 0 ? undefined : this.#random.pick(items)
  }
}
