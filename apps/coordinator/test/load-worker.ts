import type { Link, NewRequest } from '@tenure/client'
import type { Answer, Leased, StatsFound } from '@tenure/protocol'
import type { TaskCounts } from '@tenure/state-machine'
import type { Random } from '@tenure/testing'
import type { Transcript } from './transcript.js'

/** So few tasks that most workers wait for a lease to expire. */
const population = 8
const pollMs = 100

/**
 * Submits, leases, and randomly does anything a worker may do, right or wrong. It survives restarts of the
 * coordinator with its leases and its unanswered requests.
 */
export class LoadWorker {
  readonly name: string
  readonly #random: Random
  readonly #transcript: Transcript
  /** Leases it abandoned; some are reported later, mostly too late. */
  readonly #abandoned: Leased[] = []
  #submission: Extract<NewRequest, { kind: 'submit' }> | undefined
  #count = 0
  #lastTaskId = 1
  #link: Link | undefined

  constructor(name: string, random: Random, transcript: Transcript) {
    this.name = name
    this.#random = random
    this.#transcript = transcript
  }

  async work(link: Link, isOver: () => boolean): Promise<void> {
    this.#link = link
    while (!isOver()) {
      await this.#submit()
      await this.#look()
      const answer = await this.#ask({ kind: 'lease', queues: ['default'], waitMs: pollMs })
      if (answer.kind === 'leased') await this.#use(answer)
      if (this.#random.chance(0.4)) await this.#reportLate()
    }
  }

  #ask(request: NewRequest): Promise<Answer> {
    return this.#transcript.ask(this.#link!, this.name, request)
  }

  async #submit(): Promise<void> {
    const answer = await this.#ask({ kind: 'stats' })
    const { tasks } = (answer as StatsFound).stats
    const { waiting, leased } = tasks as TaskCounts
    if (waiting + leased >= population) return
    this.#submission ??= {
      kind: 'submit',
      payload: Buffer.from(this.name),
      requestId: `${this.name}-${++this.#count}`,
      executionWindowMs: this.#random.pick([60, 300]),
      retryPolicy: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 10 } },
    }
    await this.#askOnceOrTwice(this.#submission)
    this.#submission = undefined
  }

  async #look(): Promise<void> {
    const state = this.#random.pick(['WAITING', 'LEASED', 'COMPLETED', undefined] as const)
    if (state === undefined) return
    const list = { kind: 'list', state, fromTaskId: 1, limit: 1000 } as const
    const answer = await this.#ask(list)
    if (answer.kind !== 'tasks' || answer.tasks.length === 0) return
    const { taskId } = this.#random.pick(answer.tasks) as { taskId: number }
    await this.#ask({ kind: 'get', taskId })
  }

  async #use(leased: Leased): Promise<void> {
    const { taskId, leaseId } = leased
    const luck = this.#random.next()
    if (luck < 0.35) {
      this.#abandoned.push(leased)
      if (this.#random.chance(0.3)) await this.#ask({ kind: 'heartbeat', taskId, leaseId })
      return
    }
    if (luck < 0.4) await this.#ask({ kind: 'kill', taskId, reason: 'by chance' })
    // A lease of one task is not valid for another.
    if (luck > 0.9) await this.#ask({ ...this.#reportOf(leased), taskId: this.#lastTaskId })
    this.#lastTaskId = taskId
    await this.#report(leased)
  }

  async #reportLate(): Promise<void> {
    const late = this.#abandoned.shift()
    if (late !== undefined) await this.#report(late)
  }

  async #report(leased: Leased): Promise<void> {
    const report = this.#reportOf(leased)
    await this.#askOnceOrTwice(report)
    if (this.#random.chance(0.2)) await this.#ask({ ...report, reportId: 'another' })
  }

  #reportOf({ taskId, leaseId }: Leased) {
    const report = { taskId, leaseId, reportId: `of ${leaseId}` }
    if (this.#random.chance(0.3)) return { kind: 'fail', ...report, reason: 'by chance' } as const
    return { kind: 'complete', ...report } as const
  }

  async #askOnceOrTwice(request: NewRequest): Promise<void> {
    const times = this.#random.chance(0.4) ? 2 : 1
    await Promise.all(Array.from({ length: times }, () => this.#ask(request)))
  }
}
