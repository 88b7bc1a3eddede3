import type { Isolation, Run, RunEvents, Work, WorkerError } from '@tenure/worker-runtime'
import type { Owner, Owners } from '../checks/owners.js'
import type { HandlerPlan, TaskPlan } from '../scenario/scenario.js'
import type { Process } from './process.js'

/** Time that a handler needs to end after an abort. */
const abortMs = 5
/** A handler with at most this much left to do finishes first, even when aborted. */
const nearlyDoneMs = 100
const afterwards: HandlerPlan = { afterMs: 1, ends: 'returns' }

export interface HandlersContext {
  readonly process: Process
  readonly owners: Owners
  /** The life of the coordinator that last decided about the lease. */
  readonly lifeOf: (leaseId: number) => number
  readonly watch: (look: () => void) => void
  readonly onTerminated: () => void
}

/** Runs the instructions in payloads instead of user code in a thread. */
export class Handlers implements Isolation {
  readonly #context: HandlersContext
  readonly #running = new Set<Handler>()

  constructor(context: HandlersContext) {
    this.#context = context
  }

  async start(): Promise<void> {}

  run(work: Work, events: RunEvents): Run {
    const ended: RunEvents['ended'] = (outcome) => {
      this.#running.delete(handler)
      events.ended(outcome)
    }
    const handler: Handler = new Handler(work, { ...events, ended }, this.#context)
    this.#running.add(handler)
    return handler
  }

  async close(): Promise<void> {
    for (const handler of [...this.#running]) handler.terminate()
  }
}

class Handler implements Run {
  readonly #events: RunEvents
  readonly #context: HandlersContext
  readonly #owner: Owner
  readonly #plan: HandlerPlan
  /** The time at which all its work is done. */
  readonly #doneAtMs: number
  #isGone = false

  constructor(work: Work, events: RunEvents, context: HandlersContext) {
    const { taskId, leaseId, attempt } = work
    this.#events = events
    this.#context = context
    const plan = readPayload(work.payload).attempts[attempt - 1] ?? afterwards
    this.#plan = plan
    this.#owner = { taskId, leaseId, process: context.process, toldIn: context.lifeOf(leaseId) }
    context.watch(() => context.owners.begin(this.#owner))
    const { clock } = context.process
    const isEndless = plan.ends === 'hangs' || plan.ends === 'deaf'
    this.#doneAtMs = isEndless ? Number.POSITIVE_INFINITY : clock.monotonicMs() + plan.afterMs
    if (!isEndless) clock.setTimer(plan.afterMs, () => this.#end())
  }

  abort({ code }: WorkerError): void {
    // From here on the handler knows that it works without the lease.
    if (code === 'WORKER_LEASE_LOST') this.#context.owners.end(this.#owner)
    const { clock } = this.#context.process
    const isNearlyDone = this.#doneAtMs - clock.monotonicMs() <= nearlyDoneMs
    if (this.#plan.ends === 'deaf' || isNearlyDone) return
    clock.setTimer(abortMs, () => this.#leave({ kind: 'failed', reason: `told to end: ${code}` }))
  }

  terminate(): boolean {
    this.#context.onTerminated()
    queueMicrotask(() => this.#leave({ kind: 'terminated' }))
    return true
  }

  #end(): void {
    switch (this.#plan.ends) {
      case 'throws':
        this.#leave({ kind: 'failed', reason: 'Error: as planned' })
        break
      case 'crashes':
        this.#leave({ kind: 'crashed', reason: 'its thread ended' })
        break
      default:
        this.#leave({ kind: 'returned', result: resultOf(this.#owner.leaseId) })
    }
  }

  #leave(outcome: Parameters<RunEvents['ended']>[0]): void {
    if (this.#isGone || this.#context.process.isOver) return
    this.#isGone = true
    this.#context.owners.end(this.#owner)
    this.#events.ended(outcome)
  }
}

interface Payload {
  readonly number: number
  readonly attempts: readonly HandlerPlan[]
}

/** The payload of a task: instructions for its handler, padded to the required size. */
export function writePayload(number: number, { attempts, payloadBytes }: TaskPlan): Uint8Array {
  return Buffer.from(JSON.stringify({ number, attempts } satisfies Payload).padEnd(payloadBytes))
}

function readPayload(bytes: Uint8Array): Payload {
  return JSON.parse(Buffer.from(bytes).toString()) as Payload
}

/** The result names the lease under which the handler ran. */
export function resultOf(leaseId: number): Uint8Array {
  return Buffer.from(`under lease ${leaseId}`)
}
