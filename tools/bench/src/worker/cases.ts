import { setTimeout as pause } from 'node:timers/promises'
import { Stage } from '../servers/stage.js'

/** One measurement, taken once in every round. */
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
  /** Number of processors that the worker kept busy. */
  readonly cpu: number
}

export const cases: readonly Case[] = [
  {
    name: 'inline, 64 concurrent',
    unit: 'tasks/s',
    target: '>= 20,000',
    measure: drain('inline', 64),
  },
  {
    name: 'thread, 16 concurrent',
    unit: 'tasks/s',
    target: '>= 10,000',
    measure: drain('thread', 16, 2),
  },
  { name: 'process, 8 concurrent', unit: 'tasks/s', measure: drain('process', 8, 5) },
  { name: 'idle', unit: '% of a processor', target: '< 1', measure: idle },
]

const payload = Buffer.alloc(100, 7)
const lookEveryMs = 10
const warmUp = 0.2

/** How many waiting tasks a worker runs per second with a handler that does nothing. */
function drain(isolation: string, concurrency: number, fewer = 1): Case['measure'] {
  return async (pace) => {
    await using stage = await Stage.set()
    const tasks = Math.round(pace.tasks / fewer)
    const items = Array.from({ length: tasks }, () => ({ payload }))
    for await (const outcome of stage.tenure.submitMany(items)) if (!outcome.ok) throw outcome.error
    const settings = ['--isolation', isolation, '--concurrency', String(concurrency)]
    const worker = await stage.startWorker(settings)
    // During the first part threads start and code is compiled.
    const before = await untilCompleted(stage, tasks * warmUp)
    const [startMs, startCpu] = [performance.now(), await worker.cpuSeconds()]
    await untilCompleted(stage, tasks)
    const seconds = (performance.now() - startMs) / 1000
    const cpu = ((await worker.cpuSeconds()) - startCpu) / seconds
    return { value: (tasks - before) / seconds, cpu }
  }
}

/** Waits for at least this many completed tasks, and returns their number. */
async function untilCompleted({ tenure }: Stage, tasks: number): Promise<number> {
  for (;;) {
    const { counters } = (await tenure.stats()) as { counters: { tasksCompleted: number } }
    if (counters.tasksCompleted >= tasks) return counters.tasksCompleted
    await pause(lookEveryMs)
  }
}

/** A worker with default settings and nothing to do. */
async function idle({ idleSeconds }: Pace): Promise<Figures> {
  await using stage = await Stage.set()
  const worker = await stage.startWorker([])
  const before = await worker.cpuSeconds()
  await pause(idleSeconds * 1000)
  const cpu = ((await worker.cpuSeconds()) - before) / idleSeconds
  return { value: cpu * 100, cpu }
}
