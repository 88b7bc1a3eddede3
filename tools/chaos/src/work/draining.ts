import { setTimeout } from 'node:timers/promises'
import type { Tenure } from '@tenure/client'

/** If no task ends for this long, no more will. */
const patienceMs = 60_000

/** Settles when no task is alive; returns a fault if tasks stop ending. */
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
      return [`${alive} tasks are alive, and none has ended for ${patienceMs / 1000} s`]
    }
    await setTimeout(200, undefined, { signal })
  }
}

async function countTasks(tenure: Tenure, signal: AbortSignal) {
  const { tasks, counters } = await tenure.stats({ signal, timeoutMs: Number.POSITIVE_INFINITY })
  // The number of remembered tasks may shrink while others end, so forgotten tasks count too.
  const ended = tasks.ended + counters.tasksForgotten
  return { alive: tasks.waiting + tasks.leased, ended }
}
