import { Violation } from '@tenure/harness'
import type { Answer, Request } from '@tenure/protocol'
import { encodeRecord, type LogRecord } from '@tenure/state-machine'
import { expectAnswer, expectOutcome, isSameAnswer } from '../expected/expect.js'
import { type DecisionContext, isPending, type Outcome } from '../expected/outcome.js'
import { isDecisionOfTime } from '../expected/time.js'
import type { DurableState } from '../states/durable-state.js'

/** A request without an answer. */
export interface Unanswered {
  readonly action: number
  readonly request: Request
  readonly name: string
  readonly arrivedAt: number
  /** LSN of the record that decides it; 0 until there is one. */
  lsn: number
  record?: LogRecord
  /** The worker no longer wants to wait. */
  isWithdrawn?: boolean
}

/** The part of the coordinator that peers can observe. */
export interface View {
  applied(): DurableState
  durableLsn(): number
  hasStarted(): boolean
  surroundings(nextLsn: number): DecisionContext
}

/**
 * All peers, which also judge the outcome. Each record must follow from an unanswered request or
 * from time, by the specification. Each answer must follow from the log.
 * The coordinator would treat an error thrown here as its own, so the first fault is kept until it
 * is asked for.
 */
export class Peers {
  readonly #view: View
  #unanswered: Unanswered[] = []
  /** The request being handled; no other request is decided meanwhile. */
  #asking: Unanswered | undefined
  fault: Violation | undefined
  /** All answers, with the name of the peer. */
  readonly heard: [name: string, answer: Answer][] = []

  constructor(view: View) {
    this.#view = view
  }

  get unanswered(): readonly Unanswered[] {
    return this.#unanswered
  }

  ask(asked: Unanswered, handle: (respond: (answer: Answer) => void) => void): void {
    this.#unanswered.push(asked)
    this.#asking = asked
    handle((answer) => this.#hear(asked, answer))
    this.#asking = undefined
  }

  /** Drops the requests of closed connections; their answers have no receiver. */
  forget(isGone: (asked: Unanswered) => boolean): void {
    this.#unanswered = this.#unanswered.filter((asked) => !isGone(asked))
  }

  arrange(unanswered: readonly Unanswered[]): void {
    this.#unanswered = [...unanswered]
  }

  /** Checks that a request or time explains this record. */
  see(lsn: number, record: LogRecord, bytes: Uint8Array): void {
    const it = { ...this.#view.surroundings(lsn), isFull: false }
    const asked = this.#candidates().find((asked) => wants(asked, bytes, it))
    if (asked !== undefined) {
      asked.lsn = lsn
      asked.record = record
    } else if (!isDecisionOfTime(record, this.#view.hasStarted(), it)) {
      this.#note('every record follows from a request or from time', JSON.stringify(record))
    }
  }

  /** A request that waits for an event that will never come. */
  findForgotten(isRingDue: boolean, nextLsn: number): Unanswered | undefined {
    if (this.#unanswered.length === 0) return undefined
    const it = this.#view.surroundings(nextLsn)
    return this.#unanswered.find((asked) => asked.lsn === 0 && !mayWait(asked, isRingDue, it))
  }

  /** After a batch the requests that waited for it are decided first, then the polls. */
  #candidates(): readonly Unanswered[] {
    if (this.#asking !== undefined) return this.#asking.lsn === 0 ? [this.#asking] : []
    const undecided = this.#unanswered.filter(({ lsn }) => lsn === 0)
    return undecided.sort((a, b) => Number(isPoll(a)) - Number(isPoll(b)))
  }

  #hear(asked: Unanswered, answer: Answer): void {
    this.heard.push([asked.name, answer])
    const at = this.#unanswered.indexOf(asked)
    if (at === -1) {
      this.#note(
        'a request has one answer, and none when its poll has ended',
        JSON.stringify(answer),
      )
      return
    }
    this.#unanswered.splice(at, 1)
    const durableLsn = this.#view.durableLsn()
    if (this.#view.applied().lsn > durableLsn || asked.lsn > durableLsn) {
      this.#note('nothing is answered before its record is durable', JSON.stringify(answer))
    }
    const expected = this.#expect(asked, answer)
    if (expected.kind === 'answer' && isSameAnswer(answer, expected.answer)) return
    const found = `${JSON.stringify(answer)} should be ${JSON.stringify(expected)}`
    this.#note('an answer matches the log', found)
  }

  #expect(asked: Unanswered, given: Answer): Outcome {
    const { request, name, arrivedAt, lsn, record, isWithdrawn } = asked
    const applied = this.#view.applied()
    if (record !== undefined) {
      if (lsn !== applied.lsn) return { kind: 'waits' }
      const { id } = request
      return {
        kind: 'answer',
        answer: expectAnswer(id, arrivedAt, lsn, record, applied.tasks, applied),
      }
    }
    const it = this.#view.surroundings(0)
    const outcome = expectOutcome(request, name, arrivedAt, it)
    // A poll that times out exactly when a task becomes available may end without one.
    const isOver =
      request.kind === 'lease' && request.waitMs > 0 && it.now >= arrivedAt + request.waitMs
    return (isOver || isWithdrawn) && given.kind === 'empty'
      ? { kind: 'answer', answer: { kind: 'empty', id: request.id } }
      : outcome
  }

  #note(rule: string, found: string): void {
    this.fault ??= new Violation(rule, found)
  }
}

export function isPoll({ request }: Unanswered): boolean {
  return request.kind === 'lease' && request.waitMs > 0
}

function wants(asked: Unanswered, bytes: Uint8Array, it: DecisionContext): boolean {
  const outcome = expectOutcome(asked.request, asked.name, asked.arrivedAt, it)
  return outcome.kind === 'record' && Buffer.compare(encodeRecord(outcome.record), bytes) === 0
}

function mayWait(asked: Unanswered, isRingDue: boolean, it: DecisionContext): boolean {
  const { request, name, arrivedAt } = asked
  switch (request.kind) {
    case 'submit':
      return expectOutcome(request, name, arrivedAt, it).kind === 'waits'
    case 'lease': {
      const isExpiring = it.pending.some(({ record }) => record.type === 'LeaseExpired')
      if (isExpiring && request.waitMs === 0) return true
      if (request.waitMs === 0 || asked.isWithdrawn) return false
      return isExpiring || isRingDue || expectOutcome(request, name, arrivedAt, it).kind === 'polls'
    }
    default:
      return 'taskId' in request && isPending(it, request.taskId)
  }
}
