import { Violation } from '@tenure/harness'
import type { Answer, Request } from '@tenure/protocol'
import { encodeRecord, type LogRecord } from '@tenure/state-machine'
import { expectAnswer, expectOutcome, isSameAnswer } from '../expected/expect.js'
import { isPending, type Outcome, type Surroundings } from '../expected/outcome.js'
import { isDecisionOfTime } from '../expected/time.js'
import type { DurableState } from '../states/durable-state.js'

/** A request that was not answered yet. */
export interface Unanswered {
  readonly action: number
  readonly request: Request
  readonly name: string
  readonly arrivedAt: number
  /** Of the record that decides it; 0 while there is none. */
  lsn: number
  record?: LogRecord
  /** Who asked for it does not want to wait any longer. */
  isWithdrawn?: boolean
}

/** What the peers can see of the coordinator. */
export interface View {
  applied(): DurableState
  durableLsn(): number
  hasStarted(): boolean
  surroundings(nextLsn: number): Surroundings
}

/**
 * Everybody who asks, and judges what comes of it: each record has to be what the specification
 * makes of a request that is unanswered, or of time; each answer what it makes of the log.
 *
 * The coordinator would take an error that is thrown here for one of its own, so the first fault is
 * kept for whoever asks next.
 */
export class Peers {
  readonly #view: View
  #unanswered: Unanswered[] = []
  /** The one that is being handled: nobody else is decided about meanwhile. */
  #asking: Unanswered | undefined
  fault: Violation | undefined
  /** Who was told what. */
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

  /** The connection of those is gone; nobody hears what may come. */
  forget(isGone: (asked: Unanswered) => boolean): void {
    this.#unanswered = this.#unanswered.filter((asked) => !isGone(asked))
  }

  arrange(unanswered: readonly Unanswered[]): void {
    this.#unanswered = [...unanswered]
  }

  /** Somebody has to want this record. */
  see(lsn: number, record: LogRecord, bytes: Uint8Array): void {
    const it = { ...this.#view.surroundings(lsn), isFull: false }
    const asked = this.#candidates().find((asked) => wants(asked, bytes, it))
    if (asked !== undefined) {
      asked.lsn = lsn
      asked.record = record
    } else if (!isDecisionOfTime(record, this.#view.hasStarted(), it)) {
      this.#note('every record is due, or asked for', JSON.stringify(record))
    }
  }

  /** Whose wait nothing will end. */
  findForgotten(isRingDue: boolean, nextLsn: number): Unanswered | undefined {
    if (this.#unanswered.length === 0) return undefined
    const it = this.#view.surroundings(nextLsn)
    return this.#unanswered.find((asked) => asked.lsn === 0 && !mayWait(asked, isRingDue, it))
  }

  /** After a batch those who waited for it are decided about first, and then those who poll. */
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
    this.#note('an answer is what the log says', found)
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
    // Whose wait is over at the very time at which a task is there for it may go away without one.
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

function wants(asked: Unanswered, bytes: Uint8Array, it: Surroundings): boolean {
  const outcome = expectOutcome(asked.request, asked.name, asked.arrivedAt, it)
  return outcome.kind === 'record' && Buffer.compare(encodeRecord(outcome.record), bytes) === 0
}

function mayWait(asked: Unanswered, isRingDue: boolean, it: Surroundings): boolean {
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
