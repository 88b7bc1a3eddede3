import { setTimeout as pause } from 'node:timers/promises'
import { Stage } from '../servers/stage.js'

/** One thing that is measured, once in every round. */
export interface Case {
  readonly name: string
  readonly unit: 'tasks/s' | '% of a processor'
  readonly target?: string
  measure(pace: Pace): Promise<Figures>
}

interface Pace {
  readonly tasks: number
  readonly idleSeconds: number
}

export interface Figures {
  readonly value: number
  /** Processors that the worker kept busy. */
  readonly cpu: number
}

export const cases: readonly Case[] = [
  {
    name: 'inline, 64 at once',
    unit: 'tasks/s',
    target: '>= 20,000',
    measure: drain('inline', 64),
  },
  {
    name: 'thread, 16 at once',
    unit: 'tasks/s',
    target: '>= 10,000',
    measure: drain('thread', 16, 2),
  },
  { name: 'process, 8 at once', unit: 'tasks/s', measure: drain('process', 8, 5) },
  { name: 'idle', unit: '% of a processor', target: '< 1', measure: idle },
]

const payload = Buffer.alloc(100, 7)
const lookEveryMs = 10
const warmUp = 0.2

/** Tasks wait already; how many a worker runs in a second, with a handler that does nothing. */
function drain(isolation: string, concurrency: number, fewer = 1): Case['measure'] {
  return async (pace) => {
    await using stage = await Stage.set()
    const tasks = Math.round(pace.tasks / fewer)
    const items = Array.from({ length: tasks }, () => ({ payload }))
    for await (const outcome of stage.tenure.submitMany(items)) if (!outcome.ok) throw outcome.error
    const settings = ['--isolation', isolation, '--concurrency', String(concurrency)]
    const worker = await stage.startWorker(settings)
    // The first part is for the threads to start and for the code to be compiled.
    const before = await untilCompleted(stage, tasks * warmUp)
    const [startMs, startCpu] = [performance.now(), await worker.cpuSeconds()]
    await untilCompleted(stage, tasks)
    const seconds = (performance.now() - startMs) / 1000
    const cpu = ((await worker.cpuSeconds()) - startCpu) / seconds
    return { value: (tasks - before) / seconds, cpu }
  }
}

/** How many there are, once it is that many. */
async function untilCompleted({ tenure }: Stage, tasks: number): Promise<number> {
  for (;;) {
    const { counters } = (await tenure.stats()) as { counters: { tasksCompleted: number } }
    if (counters.tasksCompleted >= tasks) return counters.tasksCompleted
    await pause(lookEveryMs)
  }
}

/** A worker as it is without settings, and nothing to do. */
async function idle({ idleSeconds }: Pace): Promise<Figures> {
  await using stage = await Stage.set()
  const worker = await stage.startWorker([])
  const before = await worker.cpuSeconds()
  await pause(idleSeconds * 1000)
  const cpu = ((await worker.cpuSeconds()) - before) / idleSeconds
  return { value: cpu * 100, cpu }
}
