import { setTimeout } from 'node:timers/promises'
import type { Tenure } from '@tenure/client'

/** Without any task that ends for so long nothing more will. */
const patienceMs = 60_000

/** Settles when no task is alive any more; says what is wrong when there will always be one. */
export async function drain(
  tenure: Tenure,
  onCount: (alive: number) => void,
  signal: AbortSignal,
): Promise<string[]> {
  let lastEnded = -1
  let lastChangeMs = performance.now()
  for (;;) {
    const { alive, ended } = await countTasks(tenure, signal)
    onCount(alive)
    if (alive === 0) return []
    if (ended !== lastEnded) lastChangeMs = performance.now()
    lastEnded = ended
    if (performance.now() - lastChangeMs > patienceMs) {
      return [`${alive} tasks are alive, and for ${patienceMs / 1000} s none has ended`]
    }
    await setTimeout(200, undefined, { signal })
  }
}

async function countTasks(tenure: Tenure, signal: AbortSignal) {
  const { tasks, counters } = await tenure.stats({ signal, timeoutMs: Number.POSITIVE_INFINITY })
  // Those that are remembered may get fewer while others end.
  const ended = tasks.ended + counters.tasksForgotten
  return { alive: tasks.waiting + tasks.leased, ended }
}
