import { connect, RejectedError, type Tenure, TenureError } from '@tenure/client'
import { describeError } from '@tenure/harness'
import { transientReasons } from '@tenure/protocol'
import type { Question, Submission, TaskPlan } from '../scenario/scenario.js'
import { Violation } from '../violation.js'
import { writePayload } from './handlers.js'
import type { Machine } from './machine.js'
import { Process } from './process.js'
import { Seat } from './seat.js'
import type { Stage } from './stage.js'

const againMs = 200

/**
 * An application that submits and queries with the shipped client, and retries until it succeeds.
 */
export class ClientSeat extends Seat {
  readonly #process: Process
  readonly #tenure: Promise<Tenure>
  readonly #name: string
  #open = 0

  constructor(stage: Stage, machines: readonly Machine[], number: number) {
    super(stage, machines, `client ${number}`)
    this.#name = this.address
    this.#process = new Process(stage.clock)
    const link = this.link(this.#name, this.#process)
    this.#tenure = connect({ ...link, role: 'admin', connectTimeoutMs: Number.POSITIVE_INFINITY })
    stage.wait(this.#tenure)
  }

  /** Number of unfinished operations. */
  get open(): number {
    return this.#open
  }

  carryOut(operation: Submission | Question): void {
    this.#open++
    this.stage.wait(
      this.#carryOut(operation).finally(() => {
        this.#open--
      }),
    )
  }

  async close(): Promise<void> {
    await (await this.#tenure).close()
  }

  async #carryOut(operation: Submission | Question): Promise<void> {
    const tenure = await this.#tenure
    switch (operation.kind) {
      case 'submit':
        await this.#submit(tenure, operation.number, operation.task)
        break
      case 'resubmit': {
        const task = this.stage.planOf(operation.task)
        if (task === undefined) break
        const { payloadBytes } = task
        const other = { ...task, payloadBytes: payloadBytes + 1000 }
        await this.#submit(tenure, operation.task, operation.isOther ? other : task)
        break
      }
      default:
        await this.#patiently(() => this.#ask(tenure, operation))
    }
  }

  async #ask(tenure: Tenure, operation: Question): Promise<void> {
    const taskId = 'task' in operation ? this.stage.taskIdOf(operation.task) : undefined
    switch (operation.kind) {
      case 'list':
        for await (const _ of tenure.list()) void _
        break
      case 'stats':
        await tenure.stats()
        break
      case 'checkpoint':
        await tenure.checkpoint({ timeoutMs: 4000 })
        break
      case 'kill':
        if (taskId !== undefined) await tenure.kill(taskId, 'as planned')
        break
      case 'get':
      case 'why':
      case 'history':
        if (taskId !== undefined) await tenure[operation.kind](taskId)
        break
    }
  }

  async #submit(tenure: Tenure, number: number, task: TaskPlan): Promise<void> {
    const { queue, delayMs, executionWindowMs, retryPolicy, hasRequestId } = task
    const options = {
      queue,
      delayMs,
      executionWindowMs,
      retryPolicy,
      requestId: hasRequestId ? `request ${number}` : null,
      retryLater: true,
    }
    const submit = async () => {
      const { taskId } = await tenure.submit(writePayload(number, task), options)
      this.stage.submitted(number, taskId)
    }
    // Without a request id a retry would create a second task.
    if (hasRequestId) await this.#patiently(submit)
    else await submit().catch(refuseSurprise)
  }

  /** Retries until the answer is final. */
  async #patiently(action: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await action()
        return
      } catch (error) {
        refuseSurprise(error)
        if (error instanceof RejectedError && !transientReasons.includes(error.reason)) return
        await new Promise<void>((resolve) => {
          this.#process.clock.setTimer(againMs, resolve)
        })
      }
    }
  }
}

function refuseSurprise(error: unknown): void {
  if (error instanceof TenureError && error.code !== 'CLIENT_PROTOCOL') return
  throw new Violation('a client gets only expected answers', describeError(error), {
    cause: error,
  })
}
