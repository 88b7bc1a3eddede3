import { attemptsOf } from '../state/attempts.js'
import { requestIdOf } from '../state/contents.js'
import type { State } from '../state/state.js'
import type { Names } from '../store/names.js'

/** Differences between an index, or a count of uses, and a scan of all tasks. */
export function* findIndexFaults(state: State): Generator<string> {
  yield* lsnFaults(state)
  yield* requestFaults(state)
  yield* useFaults(state)
}

function* lsnFaults({ authoritative, derived }: State): Generator<string> {
  const { tasks } = authoritative
  let entries = 0
  for (const row of tasks.rows()) {
    const taskId = tasks.taskId.get(row)
    const leaseId = tasks.currentLeaseId.get(row)
    entries += leaseId === 0 ? 1 : 2
    if (derived.byLsn.get(taskId) !== row) yield `task ${taskId} is not found by its id`
    if (leaseId !== 0 && derived.byLsn.get(leaseId) !== row)
      yield `task ${taskId} is not found by its lease`
  }
  if (derived.byLsn.size !== entries)
    yield `the index of LSNs has ${derived.byLsn.size} entries, not ${entries}`
}

function* requestFaults(state: State): Generator<string> {
  const { tasks, blobs } = state.authoritative
  const { byRequestId } = state.derived
  let entries = 0
  for (const row of tasks.rows()) {
    if (tasks.requestIdBytes.get(row) === 0) continue
    entries++
    const requestId = blobs.holds(tasks.input.get(row)) ? requestIdOf(state, row) : ''
    if (byRequestId.find(requestId) !== row)
      yield `task ${tasks.taskId.get(row)} is not found by its request_id`
    if (byRequestId.hash(requestId) !== tasks.requestHash.get(row))
      yield `task ${tasks.taskId.get(row)} has the hash of another request_id`
  }
  if (byRequestId.size !== entries)
    yield `the index of request ids has ${byRequestId.size} entries, not ${entries}`
}

function* useFaults(state: State): Generator<string> {
  const { tasks, attempts, queues, workers } = state.authoritative
  const queueUses = new Map<number, number>()
  const workerUses = new Map<number, number>()
  let attemptCount = 0
  for (const row of tasks.rows()) {
    count(queueUses, tasks.queue.get(row))
    for (const attempt of attemptsOf(state, row)) {
      count(workerUses, attempts.worker.get(attempt))
      attemptCount++
    }
  }
  yield* compareUses('queue', queues, queueUses)
  yield* compareUses('worker', workers, workerUses)
  if (attempts.size !== attemptCount)
    yield `${attempts.size} attempts are kept, tasks have ${attemptCount}`
}

function count(uses: Map<number, number>, number: number): void {
  uses.set(number, (uses.get(number) ?? 0) + 1)
}

function* compareUses(
  kind: string,
  names: Names,
  uses: ReadonlyMap<number, number>,
): Generator<string> {
  if (names.size !== uses.size)
    yield `${names.size} names of ${kind}s are kept, ${uses.size} are used`
  for (const [number, used] of uses) {
    if (names.find(names.text(number)) !== number)
      yield `${kind} ${names.text(number)} is not found by its name`
    if (names.uses(number) !== used)
      yield `${kind} ${names.text(number)} counts ${names.uses(number)} uses, not ${used}`
  }
}
