import { requestIdOf } from './contents.js'
import type { State } from './state.js'
import type { Line } from './store/line.js'
import type { Names } from './store/names.js'
import { states } from './store/task-rows.js'

/** Where an index, a count of uses or a counter differs from what a naive scan of all tasks finds. */
export function* findIndexFaults(state: State): Generator<string> {
  yield* lsnFaults(state)
  yield* requestFaults(state)
  yield* lineFaults(state)
  yield* useFaults(state)
  yield* counterFaults(state)
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
  const { tasks } = state.authoritative
  const { byRequestId } = state.derived
  let entries = 0
  for (const row of tasks.rows()) {
    if (tasks.requestIdBytes.get(row) === 0) continue
    entries++
    if (byRequestId.find(requestIdOf(state, row)) !== row) {
      yield `task ${tasks.taskId.get(row)} is not found by its request_id`
    }
  }
  if (byRequestId.size !== entries)
    yield `the index of request ids has ${byRequestId.size} entries, not ${entries}`
}

function* lineFaults({ authoritative, derived }: State): Generator<string> {
  const { tasks, queues } = authoritative
  const rows = [...tasks.rows()].filter(
    (row) => !derived.withheld.has(row) || tasks.place.get(row) !== 0,
  )
  const inState = (row: number, isOf: (state: number) => boolean) => isOf(tasks.state.get(row))
  const order = (a: number, b: number) =>
    tasks.due.get(a) - tasks.due.get(b) || tasks.taskId.get(a) - tasks.taskId.get(b)
  const scan = (belongs: (row: number) => boolean) => rows.filter(belongs).sort(order)

  const leased = scan((row) => inState(row, (state) => state === states.LEASED))
  const ended = scan((row) => inState(row, (state) => state > states.LEASED))
  yield* compare('the line of leased tasks', derived.leased, leased)
  yield* compare('the line of ended tasks', derived.ended, ended)
  const waiting = new Map<number, number[]>()
  for (const row of scan((row) => inState(row, (state) => state === states.WAITING))) {
    const queue = tasks.queue.get(row)
    const others = waiting.get(queue)
    if (others === undefined) waiting.set(queue, [row])
    else others.push(row)
  }
  for (const [number, line] of derived.waiting.entries()) {
    if (line === undefined) continue
    yield* compare(`the line of queue ${queues.text(number)}`, line, waiting.get(number) ?? [])
    waiting.delete(number)
  }
  for (const number of waiting.keys())
    yield `the tasks of queue ${queues.text(number)} stand in no line`
}

function* compare(name: string, line: Line, scanned: readonly number[]): Generator<string> {
  const rows = [...line.rows()]
  if (line.size !== rows.length) yield `${name} counts ${line.size} tasks and has ${rows.length}`
  const wrong = scanned.findIndex((row, index) => row !== rows[index])
  if (rows.length !== scanned.length)
    yield `${name} has ${rows.length} tasks, not ${scanned.length}`
  else if (wrong !== -1) yield `${name} is out of order at place ${wrong}`
  if (line.first !== (rows[0] ?? 0)) yield `${name} does not begin with its first task`
}

function* useFaults({ authoritative }: State): Generator<string> {
  const { tasks, attempts, queues, workers } = authoritative
  const queueUses = new Map<number, number>()
  const workerUses = new Map<number, number>()
  let attemptCount = 0
  for (const row of tasks.rows()) {
    count(queueUses, tasks.queue.get(row))
    for (let at = tasks.newestAttempt.get(row); at !== 0; at = attempts.older.get(at)) {
      count(workerUses, attempts.worker.get(at))
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

function* counterFaults({ authoritative, derived }: State): Generator<string> {
  const { tasks, counters } = authoritative
  const { tasksCreated, tasksForgotten, tasksCompleted, tasksFailed, tasksDead } = counters
  if (tasksCreated - tasksForgotten !== tasks.size) {
    yield `${tasksCreated} tasks created less ${tasksForgotten} forgotten are not ${tasks.size}`
  }
  const ended = tasksCompleted + tasksFailed + tasksDead - tasksForgotten
  if (ended !== derived.ended.size)
    yield `${ended} tasks ended by the counters, ${derived.ended.size} by their line`
}
