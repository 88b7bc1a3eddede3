import { setTimeout } from 'node:timers/promises'
import type { Submission, Tenure } from '@tenure/client'
import type { Acknowledged } from './acknowledged.js'
import type { Options } from './options.js'
import { toSubmission } from './work.js'

/** The last is submitted before the faults end: all of them have their share of bad days. */
const shareOfTime = 0.9

/** Submits all tasks, evenly over the time of the faults, each until it is acknowledged. */
export async function submitAll(
  tenure: Tenure,
  options: Options,
  acknowledged: Acknowledged,
  signal: AbortSignal,
): Promise<void> {
  const outcomes = tenure.submitMany(paced(options, signal), {
    ...{ signal, timeoutMs: Number.POSITIVE_INFINITY, window: 256 },
  })
  for await (const outcome of outcomes) {
    if (!outcome.ok) throw outcome.error
    acknowledged.add(outcome.index, outcome.taskId)
  }
}

async function* paced(
  { tasks, faultMs, seed }: Options,
  signal: AbortSignal,
): AsyncGenerator<Submission> {
  const start = performance.now()
  const intervalMs = (faultMs * shareOfTime) / tasks
  for (let number = 0; number < tasks; number++) {
    const earlyMs = start + number * intervalMs - performance.now()
    if (earlyMs > 0) await setTimeout(earlyMs, undefined, { signal })
    yield toSubmission(seed, number)
  }
}
