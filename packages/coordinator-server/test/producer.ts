import type { Answer } from '@tenure/protocol'
import type { SimulatedClock, SimulatedNetwork } from '@tenure/testing'
import { Actor } from './actor.js'

/** Submits its tasks, each until it is told that it is there. */
export class Producer extends Actor {
  /** What was answered: the task of each request_id. */
  readonly submitted = new Map<string, number>()
  readonly #count: number

  constructor(count: number, clock: SimulatedClock, network: SimulatedNetwork) {
    super('producer', 'produce', clock, network)
    this.#count = count
  }

  get isDone(): boolean {
    return this.submitted.size === this.#count
  }

  protected onOpen(): void {
    for (let number = 0; number < this.#count; number++) {
      const requestId = `request ${number}`
      // Those that are there already are asked for again, too: the answer has to be the same.
      const payload = Buffer.from(`task ${number}`)
      const retryPolicy = { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 50 } } as const
      const submit = {
        kind: 'submit',
        payload,
        requestId,
        executionWindowMs: 3000,
        retryPolicy,
      } as const
      this.ask(submit, (answer) => this.#note(requestId, answer))
    }
  }

  #note(requestId: string, answer: Answer): void {
    if (answer.kind !== 'submitted') {
      if (answer.kind === 'rejected' && answer.reason === 'STOPPING') return
      throw new Error(`${requestId}: ${JSON.stringify(answer)}`)
    }
    const before = this.submitted.get(requestId)
    if (before !== undefined && before !== answer.taskId) {
      throw new Error(`${requestId} is task ${answer.taskId}, and was task ${before}`)
    }
    this.submitted.set(requestId, answer.taskId)
  }
}
