import { join } from 'node:path'
import type { Link, NewRequest } from '@tenure/client'
import type { Answer, Leased } from '@tenure/protocol'
import type { RecordType } from '@tenure/state-machine'
import type { Test } from 'tap'
import { CoordinatorProcess, makeDirectory } from './coordinator-process.js'
import { connectOnce, expect, leaseFrom } from './links.js'
import { historyOf, readHistories, untilWritten } from './log-book.js'

export type Held = Pick<Leased, 'taskId' | 'leaseId'>
export type SubmitOptions = Partial<Extract<NewRequest, { kind: 'submit' }>>

const longLeases = ['--lease-duration', '10m']

/**
 * A coordinator, two workers, and its log. Every task has its own queue, so that tasks do not affect each
 * other. Leases are long; a lease that has to expire gets a short execution window.
 */
export class Stage {
  /** The last record seen in the log about each task. */
  readonly noted = new Map<number, RecordType[]>()
  readonly coordinator: CoordinatorProcess
  readonly port: number
  readonly w1: Link
  readonly w2: Link
  readonly #dataDir: string
  #queues = 0

  private constructor(parts: Pick<Stage, 'coordinator' | 'port' | 'w1' | 'w2'>, dataDir: string) {
    this.coordinator = parts.coordinator
    this.port = parts.port
    this.w1 = parts.w1
    this.w2 = parts.w2
    this.#dataDir = dataDir
  }

  static async open(t: Test, args: readonly string[] = []): Promise<Stage> {
    const dataDir = join(makeDirectory(t), 'data')
    const { coordinator, port } = await CoordinatorProcess.start(t, dataDir, [
      ...longLeases,
      ...args,
    ])
    const [w1, w2] = [await connectOnce(t, port, 'w1'), await connectOnce(t, port, 'w2')]
    return new Stage({ coordinator, port, w1, w2 }, dataDir)
  }

  async lease(options: SubmitOptions = {}, link = this.w1): Promise<Leased> {
    const queue = `q${++this.#queues}`
    const submit = { kind: 'submit', payload: Buffer.from('work'), queue, ...options } as const
    await expect(link, 'submitted', submit)
    return leaseFrom(link, queue)
  }

  /** A lease that has expired. */
  async expired(): Promise<Leased> {
    const held = await this.lease({ executionWindowMs: 30 })
    await this.expiryOf(held)
    return held
  }

  expiryOf({ leaseId }: Held): Promise<void> {
    return untilWritten(this.#dataDir, (record) => {
      return record.type === 'LeaseExpired' && record.leaseId === leaseId
    })
  }

  forgetting(): Promise<void> {
    return untilWritten(this.#dataDir, ({ type }) => type === 'TasksForgotten')
  }

  async kill<H extends Held>(held: H): Promise<H> {
    await expect(this.w2, 'killed', { kind: 'kill', taskId: held.taskId, reason: 'enough' })
    return held
  }

  historyOf(taskId: number): Promise<RecordType[]> {
    return historyOf(this.#dataDir, taskId)
  }

  readHistories(): Promise<Map<number, RecordType[]>> {
    return readHistories(this.#dataDir)
  }

  /** The answer, and the records written about the task. */
  async observe(taskId: number, request: NewRequest, link = this.w1) {
    const before = await this.historyOf(taskId)
    const answer = await link.request(request)
    const after = await this.historyOf(taskId)
    this.noted.set(taskId, after)
    return { answer: essence(answer), written: after.slice(before.length) }
  }
}

/** The answer without its id and its message. */
export function essence(answer: Answer): object {
  const { id: _, ...rest } = answer
  if (rest.kind !== 'rejected') return rest
  return { kind: 'rejected', reason: rest.reason }
}
