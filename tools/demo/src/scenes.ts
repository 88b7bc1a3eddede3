import type { Task } from '@tenure/client'
import type { Stage } from './stage.js'

/** One failure: what is about to happen, what happens, and what it means. */
export interface Scene {
  readonly title: string
  /** Explains what to look for, in short lines. */
  readonly intro: string
  /** Returns the sentence that sums the scene up. Throws if the scene went differently. */
  play(stage: Stage): Promise<string>
}

export const scenes: readonly Scene[] = [
  {
    title: 'Work is submitted and done',
    intro: `The coordinator acknowledges a task once it is on disk. Two workers, ada and ben, request tasks.
The worker that gets a task owns it until its lease ends.`,
    async play(stage) {
      await Promise.all([stage.startWorker('ada'), stage.startWorker('ben')])
      const tasks = await Promise.all([300, 300, 300, 300].map((workMs) => stage.submit(workMs)))
      const ended = await Promise.all(tasks.map((taskId) => stage.ended(taskId)))
      for (const task of ended) expectAttempts(task, 1)
      return 'Each task ran once, under one lease, and stays COMPLETED.'
    },
  },
  {
    title: 'A worker is killed during a task',
    intro: `SIGKILL: the worker cannot tell the coordinator. The coordinator waits until the lease expires, and
then grants the task to another worker.`,
    async play(stage) {
      const taskId = await stage.submit(stage.leaseMs * 1.5)
      const owner = await stage.firstToLease(['ada', 'ben'], taskId)
      const other = owner === 'ada' ? 'ben' : 'ada'
      await stage.program(owner).end()
      stage.narrate(
        `${owner} is killed. Its lease expires within ${stage.leaseMs} ms; no other worker gets the task before.`,
      )
      await stage.waitForLine(other, 'leased', taskId)
      expectAttempts(await stage.ended(taskId), 2)
      await stage.startWorker(owner)
      return 'It ran twice, and only the second execution completed. Tenure cannot know how far the first one got.'
    },
  },
  {
    title: 'The coordinator is killed while a task runs',
    intro: `The worker continues. The new coordinator reads the log, which contains every lease and its expiry.
The worker reconnects and reports under the same lease.`,
    async play(stage) {
      const taskId = await stage.submit(stage.leaseMs * 1.2)
      await stage.firstToLease(['ada', 'ben'], taskId)
      await stage.program('coordinator').end()
      const { replayMs, replayed } = await stage.startCoordinator()
      stage.narrate(`The new coordinator has read ${replayed} records in ${replayMs} ms.`)
      expectAttempts(await stage.ended(taskId), 1)
      return 'It ran once. A lease granted before the crash is still valid after it.'
    },
  },
  {
    title: 'A worker is paused for longer than its lease',
    intro: `SIGSTOP: the worker stands still, as on an overloaded machine, and misses the end of its lease. When
it continues, its own clock tells it that the lease is over, and it aborts its handler.`,
    async play(stage) {
      const taskId = await stage.submit(stage.leaseMs * 1.5)
      const owner = await stage.firstToLease(['ada', 'ben'], taskId)
      const other = owner === 'ada' ? 'ben' : 'ada'
      stage.program(owner).kill('SIGSTOP')
      stage.narrate(`${owner} is paused.`)
      await stage.waitForLine(other, 'leased', taskId)
      stage.program(owner).kill('SIGCONT')
      stage.narrate(`${owner} continues.`)
      await stage.waitForLine(owner, 'lease lost', taskId)
      expectAttempts(await stage.ended(taskId), 2)
      return 'It ran twice, and the second execution counts. The first worker detected by itself that its lease was over.'
    },
  },
  {
    title: 'A report arrives too late: CANCELLED',
    intro: `The connection of the worker cora stalls. cora finishes its work and sends the report in time. But the
report arrives after the lease has expired and another worker, dan, has leased the task.`,
    async play(stage) {
      const proxy = await stage.openProxy()
      await stage.startWorker('cora', { queue: 'letters', proxy })
      const taskId = await stage.submit(stage.leaseMs / 2, 'letters')
      await stage.waitForLine('cora', 'leased', taskId)
      proxy.stall()
      stage.narrate("cora's connection stalls.")
      await stage.startWorker('dan', { queue: 'letters' })
      await stage.waitForLine('dan', 'leased', taskId)
      proxy.resume()
      stage.narrate("cora's connection works again, and the report arrives.")
      await stage.waitForLine('cora', 'cancelled', taskId)
      const task = await stage.ended(taskId)
      expectAttempts(task, 2)
      stage.narrate(
        `Why did task ${taskId} run twice? This is the output of "tenure explain ${taskId}":`,
      )
      const explained = await stage.explain(taskId)
      stage.show(explained)
      if (!/ran twice/.test(explained))
        throw new Error('the output of tenure explain does not say why the task ran twice')
      return 'The answer CANCELLED tells cora that its result was dropped. The log records why.'
    },
  },
]

function expectAttempts({ taskId, state, attempt }: Task, expected: number): void {
  if (state === 'COMPLETED' && attempt === expected) return
  throw new Error(`task ${taskId} is ${state} after ${attempt} attempts, expected ${expected}`)
}
