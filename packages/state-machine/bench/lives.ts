import type { Recording } from './recording.js'
import { TaskMaker } from './task-maker.js'

interface Task {
  readonly taskId: number
  readonly retryPolicy: typeof fixed | typeof growing
  attempt: number
  failures: number
}

const createdPerMs = 4
const waitMs = 400
const heartbeatMs = 1000
const leaseMs = 3000
const endedKeptMs = 5000
const forgetEveryMs = 100
/** Longer than any delay in these lives. */
const wheelMs = 8192

const firstBackoffMs = 500
const fixed = { maxRetries: 1, backoff: { kind: 'fixed', delayMs: firstBackoffMs } } as const
const growing = {
  maxRetries: 2,
  backoff: { kind: 'exponential', initialMs: firstBackoffMs, maxMs: 4000 },
} as const

/**
 * Records complete lives of tasks as on a busy coordinator: four new tasks every millisecond. Each
 * is leased, most are extended up to three times and completed, three in ten with a result. One in
 * twenty attempts fails. One in forty expires, and half of these workers report too late. One in a
 * hundred tasks is killed. Ended tasks are forgotten five seconds later.
 *
 * Returns how many records precede the first forgotten task. From there on the number of tasks
 * stays the same.
 */
export function recordLives(recording: Recording, records: number, idShare: number): number {
  const maker = new TaskMaker(idShare, (record) => recording.add(record))
  const { random } = maker
  const wheel: (() => void)[][] = Array.from({ length: wheelMs }, () => [])
  const marks: number[] = []
  const startAt = maker.at
  let untilForgetting = Number.POSITIVE_INFINITY
  while (recording.length < untilForgetting + records) {
    maker.at++
    const due = wheel[maker.at % wheelMs]!
    wheel[maker.at % wheelMs] = []
    for (const happen of due) happen()
    for (let created = 0; created < createdPerMs; created++) create()
    if ((maker.at - startAt) % forgetEveryMs === 0) forget()
  }
  return untilForgetting

  function after(ms: number, happen: () => void): void {
    wheel[(maker.at + ms) % wheelMs]!.push(happen)
  }

  function create(): void {
    const retryPolicy = random.chance(0.5) ? fixed : growing
    const taskId = maker.create(retryPolicy)
    const task = { taskId, retryPolicy, attempt: 0, failures: 0 }
    after(waitMs, () => (random.chance(0.005) ? kill(task) : grant(task)))
  }

  function grant(task: Task): void {
    task.attempt++
    const leaseId = maker.grant(task.taskId, task.attempt, leaseMs)
    if (random.chance(0.025)) after(leaseMs, () => expire(task, leaseId))
    else work(task, leaseId, random.below(4))
  }

  function work(task: Task, leaseId: number, heartbeats: number): void {
    if (heartbeats === 0) {
      after(1 + random.below(heartbeatMs), () => finish(task, leaseId))
      return
    }
    after(heartbeatMs, () => {
      maker.extend(leaseId, leaseMs)
      work(task, leaseId, heartbeats - 1)
    })
  }

  function finish(task: Task, leaseId: number): void {
    if (random.chance(0.005)) kill(task)
    else if (random.chance(0.05 + 0.4 * task.failures)) fail(task, leaseId)
    else maker.complete(task.taskId, leaseId, random.chance(0.3) ? random.bytes(40) : undefined)
  }

  function fail(task: Task, leaseId: number): void {
    const { taskId, retryPolicy } = task
    const failureReason = 'connection refused'
    maker.write({ type: 'TaskFailed', at: maker.at, taskId, leaseId, failureReason })
    task.failures++
    if (task.failures > retryPolicy.maxRetries) return
    const doublings = retryPolicy === growing ? task.failures - 1 : 0
    after(firstBackoffMs * 2 ** doublings, () => grant(task))
  }

  function expire(task: Task, leaseId: number): void {
    const { taskId } = task
    maker.write({ type: 'LeaseExpired', at: maker.at, taskId, leaseId, atStart: false })
    after(1, () => grant(task))
    if (random.chance(0.5)) {
      after(300, () => {
        maker.write({ type: 'TaskCancelled', at: maker.at, taskId, leaseId })
      })
    }
  }

  function kill({ taskId }: Task): void {
    maker.write({ type: 'TaskDead', at: maker.at, taskId, reason: 'stopped by hand' })
  }

  function forget(): void {
    marks.push(maker.lsn)
    if (marks.length * forgetEveryMs <= endedKeptMs) return
    untilForgetting = Math.min(untilForgetting, recording.length)
    maker.forget(marks.shift()!)
  }
}
