import { isUtf8 } from 'node:buffer'
import { Unreadable, type ValueReader } from '@tenure/values'
import { malformedState } from '../errors.js'
import { recordLimits } from '../record.js'
import { keepInput, keepOutcome, makeInput, makeOutcome } from '../state/contents.js'
import { addToDueList } from '../state/due-lists.js'
import type { State } from '../state/state.js'
import { attemptLength, taskLength } from '../state/task-values.js'
import { outcomes } from '../store/attempt-rows.js'
import { states } from '../store/task-rows.js'
import { attemptsKept } from '../task.js'
import { isTextOf } from '../values.js'

const { queueBytesMax, requestIdBytesMax, reportIdBytesMax, workerIdBytesMax } = recordLimits
const { reasonBytesMax, timeMsMax, retriesMax } = recordLimits
const u32Max = 2 ** 32 - 1
const lsnMax = Number.MAX_SAFE_INTEGER

/**
 * Adds the tasks of an encoded state to a state, in their order. Checks each value against the
 * limits of records and rows. `checkInvariants` checks whether the values are consistent.
 */
export class TaskRestorer {
  readonly #state: State
  #newestLiving = 0
  #lastEnd = 0

  constructor(state: State) {
    this.#state = state
  }

  restore(reader: ValueReader): void {
    const { tasks, queues, blobs } = this.#state.authoritative
    const { byLsn, byRequestId } = this.#state.derived
    if (reader.list() !== taskLength) throw new Unreadable(`it does not have ${taskLength} values`)
    const taskId = whole(reader, 1, lsnMax)
    if (byLsn.get(taskId) !== 0) throw malformedState(`LSN ${taskId} occurs twice`)
    const row = tasks.add()
    tasks.taskId.set(row, taskId)
    byLsn.add(taskId, row)
    const state = whole(reader, 0, states.DEAD)
    tasks.state.set(row, state)
    tasks.queue.set(row, queues.use(text(reader, 1, queueBytesMax)))
    tasks.createdAt.set(row, time(reader))
    tasks.stateSince.set(row, time(reader))
    const due = reader.whole()
    tasks.due.set(row, due)
    this.#requireOrder(taskId, state, due)
    tasks.executionWindowMs.set(row, whole(reader, 1, timeMsMax))
    restoreRetryPolicy(this.#state, row, reader)
    if (!reader.takeNil()) {
      tasks.hasNotBefore.set(row, 1)
      tasks.notBefore.set(row, time(reader))
    }
    const requestId = reader.takeNil() ? undefined : text(reader, 1, requestIdBytesMax)
    keepInput(this.#state, row, makeInput(blobs, reader.bytes(), requestId), requestId)
    if (requestId !== undefined) {
      const hash = byRequestId.hash(requestId)
      if (byRequestId.find(requestId, hash) !== 0)
        throw malformedState(`task ${taskId} has the request_id of another task`)
      byRequestId.add(row, hash)
    }
    tasks.attempt.set(row, whole(reader, 0, u32Max))
    tasks.failures.set(row, whole(reader, 0, u32Max))
    tasks.expiriesInARow.set(row, whole(reader, 0, u32Max))
    if (!reader.takeNil()) {
      const outcome = reader.bytes()
      if (state !== states.COMPLETED) requireReason(outcome)
      keepOutcome(this.#state, row, makeOutcome(blobs, outcome), true)
    }
    const attempts = reader.list()
    if (attempts > attemptsKept) throw malformedState(`task ${taskId} has too many attempts`)
    for (let restored = 0; restored < attempts; restored++) restoreAttempt(this.#state, row, reader)
    if (state === states.LEASED) restoreLease(this.#state, row)
    addToDueList(this.#state, row, this.#state.authoritative.lastAt)
  }

  /**
   * The order is part of the encoding, so that one state has one encoding. Ended tasks come in the
   * order of their ends, so that their due list is a chain here, too.
   */
  #requireOrder(taskId: number, state: number, due: number): void {
    const lives = state <= states.LEASED
    if (lives && (this.#lastEnd > 0 || taskId <= this.#newestLiving))
      throw malformedState(`task ${taskId} is out of order`)
    if (!lives && due <= this.#lastEnd)
      throw malformedState(`task ${taskId} ended before the task that precedes it`)
    if (lives) this.#newestLiving = taskId
    else this.#lastEnd = due
  }
}

function restoreRetryPolicy({ authoritative }: State, row: number, reader: ValueReader): void {
  const { tasks } = authoritative
  tasks.maxRetries.set(row, whole(reader, 0, retriesMax))
  tasks.backoffMs.set(row, time(reader))
  if (reader.takeNil()) return
  tasks.exponential.set(row, 1)
  tasks.backoffMsMax.set(row, time(reader))
}

/** Adds the attempt as the newest one of the task. */
function restoreAttempt({ authoritative }: State, row: number, reader: ValueReader): void {
  const { tasks, attempts, workers, blobs } = authoritative
  if (reader.list() !== attemptLength)
    throw new Unreadable(`it does not have ${attemptLength} values`)
  const attempt = attempts.add()
  attempts.older.set(attempt, tasks.newestAttempt.get(row))
  tasks.newestAttempt.set(row, attempt)
  tasks.attempts.set(row, tasks.attempts.get(row) + 1)
  attempts.leaseId.set(attempt, whole(reader, 1, lsnMax))
  attempts.worker.set(attempt, workers.use(text(reader, 1, workerIdBytesMax)))
  attempts.grantedAt.set(attempt, time(reader))
  attempts.leaseExpiry.set(attempt, time(reader))
  const outcome = whole(reader, 0, outcomes.DEAD)
  attempts.outcome.set(attempt, outcome)
  const isOpen = reader.takeNil()
  if (isOpen !== (outcome === outcomes.OPEN))
    throw new Unreadable('an OPEN attempt has an end time, or an ended one has none')
  if (!isOpen) attempts.endedAt.set(attempt, time(reader))
  if (!reader.takeNil())
    attempts.reportId.set(attempt, blobs.addText(text(reader, 1, reportIdBytesMax)))
  attempts.cancelled.set(attempt, reader.boolean() ? 1 : 0)
}

/** Makes the newest attempt's lease the task's current one. */
function restoreLease({ authoritative, derived }: State, row: number): void {
  const { tasks, attempts } = authoritative
  const attempt = tasks.newestAttempt.get(row)
  const leaseId = attempt === 0 ? 0 : attempts.leaseId.get(attempt)
  if (leaseId === 0 || derived.byLsn.get(leaseId) !== 0) {
    throw malformedState(`task ${tasks.taskId.get(row)} is LEASED without a lease of its own`)
  }
  tasks.currentLeaseId.set(row, leaseId)
  derived.byLsn.add(leaseId, row)
}

function requireReason(reason: Uint8Array): void {
  if (reason.length > reasonBytesMax || !isUtf8(reason))
    throw new Unreadable('its reason is invalid')
}

function time(reader: ValueReader): number {
  return whole(reader, 0, timeMsMax)
}

function whole(reader: ValueReader, min: number, max: number): number {
  const value = reader.whole()
  if (value < min || value > max) throw new Unreadable(`${value} is not from ${min} to ${max}`)
  return value
}

function text(reader: ValueReader, min: number, max: number): string {
  const value = reader.text()
  if (!isTextOf(value, min, max))
    throw new Unreadable(`a text does not have ${min} to ${max} bytes`)
  return value
}
