import { setTimeout as pause } from 'node:timers/promises'
import { RejectedError, type Tenure, TenureError } from '@tenure/client'
import type { Role } from '@tenure/protocol'
import { type Rates, ratesBetween, type Sample, takeSample } from '../verbs/watch/sample.js'
import type { View } from '../verbs/watch/views.js'

export interface WatchOptions {
  readonly intervalMs: number
  /** How many intervals; without one it goes on until the signal says so. */
  readonly count: number | undefined
  readonly signal: AbortSignal
}

/** A coordinator that does not answer for so long is told of. */
const patienceMsMin = 2000

/** Asks in every interval, and shows what came of it. A lost connection does not end it. */
export async function watch(tenure: Tenure, role: Role, view: View, options: WatchOptions) {
  const { intervalMs, count = Number.POSITIVE_INFINITY, signal } = options
  const call = { signal, timeoutMs: Math.max(patienceMsMin, intervalMs) }
  try {
    let before = await takeSample(tenure, role, call)
    let rates: Rates | undefined
    view.show({ sample: before, rates, intervalMs })
    for (let shown = 0; shown < count; shown++) {
      await pause(intervalMs, undefined, { signal })
      const outcome = await attempt(() => takeSample(tenure, role, call))
      if ('trouble' in outcome) {
        view.show({ sample: before, rates, intervalMs, trouble: outcome.trouble })
        continue
      }
      rates = ratesBetween(before, outcome.sample)
      before = outcome.sample
      view.show({ sample: before, rates, intervalMs })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    view.end()
  }
}

/** The client goes on trying to connect; a refusal is final. */
async function attempt(
  take: () => Promise<Sample>,
): Promise<{ sample: Sample } | { trouble: string }> {
  try {
    return { sample: await take() }
  } catch (error) {
    if (!(error instanceof TenureError) || error instanceof RejectedError) throw error
    if (error.code === 'CLIENT_ABORTED') throw error
    return { trouble: error.message }
  }
}
