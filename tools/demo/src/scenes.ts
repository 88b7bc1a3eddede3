import type { Task } from '@tenure/client'
import type { Stage } from './stage.js'

/** One thing to understand: what is about to happen, what happens, and what came of it. */
export interface Scene {
  readonly title: string
  /** What to look for, in short lines. */
  readonly intro: string
  /** Gives the sentence that sums it up; throws when it went another way. */
  play(stage: Stage): Promise<string>
}

export const scenes: readonly Scene[] = [
  {
    title: 'Work is submitted and done',
    intro: `A task is acknowledged when it is on the coordinator's disk. Two workers, ada and ben, ask
for tasks. Who gets one owns it for the length of a lease, and no longer.`,
    async play(stage) {
      await Promise.all([stage.startWorker('ada'), stage.startWorker('ben')])
      const tasks = await Promise.all([300, 300, 300, 300].map((workMs) => stage.submit(workMs)))
      const ended = await Promise.all(tasks.map((taskId) => stage.ended(taskId)))
      for (const task of ended) expectAttempts(task, 1)
      return 'Each ran once, under one lease, and is COMPLETED for good.'
    },
  },
  {
    title: 'A worker is killed in the middle',
    intro: `SIGKILL: it cannot say goodbye, and nobody is told. The coordinator does nothing but wait: time
takes the lease back, and then the task is anybody's again.`,
    async play(stage) {
      const taskId = await stage.submit(stage.leaseMs * 1.5)
      const owner = await stage.whoLeases(['ada', 'ben'], taskId)
      const other = owner === 'ada' ? 'ben' : 'ada'
      await stage.program(owner).end()
      stage.say(
        `${owner} is dead. The lease holds for ${stage.leaseMs} ms; until then the task is its own.`,
      )
      await stage.hears(other, 'leased', taskId)
      expectAttempts(await stage.ended(taskId), 2)
      await stage.startWorker(owner)
      return `It ran twice, and only the second execution ended. Nobody can know how far the first one got.`
    },
  },
  {
    title: 'The coordinator is killed while a task runs',
    intro: `The worker goes on working. The coordinator's only truth is its log: it reads it again and knows
who holds what, until when. The worker comes back under its lease as if nothing had happened.`,
    async play(stage) {
      const taskId = await stage.submit(stage.leaseMs * 1.2)
      await stage.whoLeases(['ada', 'ben'], taskId)
      await stage.program('coordinator').end()
      const { replayMs, replayed } = await stage.startCoordinator()
      stage.say(`The new coordinator has read ${replayed} records in ${replayMs} ms.`)
      expectAttempts(await stage.ended(taskId), 1)
      return 'It ran once. A lease that was granted before the crash is good after it.'
    },
  },
  {
    title: 'A worker is paused beyond its lease',
    intro: `SIGSTOP: like a machine so busy that nothing moves. Nobody has told it meanwhile that the
task is gone. Its own clock says that it is too late: it tells its handler to end.`,
    async play(stage) {
      const taskId = await stage.submit(stage.leaseMs * 1.5)
      const owner = await stage.whoLeases(['ada', 'ben'], taskId)
      const other = owner === 'ada' ? 'ben' : 'ada'
      stage.program(owner).kill('SIGSTOP')
      stage.say(`${owner} is paused.`)
      await stage.hears(other, 'leased', taskId)
      stage.program(owner).kill('SIGCONT')
      stage.say(`${owner} goes on.`)
      await stage.hears(owner, 'lease lost', taskId)
      expectAttempts(await stage.ended(taskId), 2)
      return 'The second execution counts: the first worker saw by itself that it was too late.'
    },
  },
  {
    title: 'A report comes too late: CANCELLED',
    intro: `cora works behind a cable that stalls. It does all of its work and reports in time, by any clock; but
the report stands in the cable while time takes the lease back, and dan gets the task.`,
    async play(stage) {
      const cable = await stage.layCable()
      await stage.startWorker('cora', { queue: 'letters', behind: cable })
      const taskId = await stage.submit(stage.leaseMs / 2, 'letters')
      await stage.hears('cora', 'leased', taskId)
      cable.cut()
      stage.say('The cable stalls.')
      await stage.startWorker('dan', { queue: 'letters' })
      await stage.hears('dan', 'leased', taskId)
      cable.mend()
      stage.say('The cable works again, and the report gets through.')
      await stage.hears('cora', 'cancelled', taskId)
      const task = await stage.ended(taskId)
      expectAttempts(task, 2)
      stage.say(`Why did task ${taskId} run twice? tenure explain ${taskId} asks the coordinator:`)
      const explained = await stage.explain(taskId)
      stage.show(explained)
      if (!/ran twice/.test(explained)) throw new Error('the explanation explains nothing')
      return `cora's work was done for nothing, and cora knows it. The log says why.`
    },
  },
]

function expectAttempts({ taskId, state, attempt }: Task, expected: number): void {
  if (state === 'COMPLETED' && attempt === expected) return
  throw new Error(
    `task ${taskId} is ${state} after ${attempt} attempts, where ${expected} were expected`,
  )
}
