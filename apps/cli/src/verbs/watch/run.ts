import { setTimeout as pause } from 'node:timers/promises'
import { awaitStopSignal, defineVerb, duration, whole } from '@tenure/app-kit'
import { RejectedError, type Tenure, TenureError } from '@tenure/client'
import type { Role } from '@tenure/protocol'
import { exitCodes, flag } from '../../command-line.js'
import { clientSettings, withClient } from '../../coordinator/connection.js'
import { outputSettings } from '../../terminal/json.js'
import { type Rates, ratesBetween, type Sample, takeSample } from './sample.js'
import { type View, viewFor } from './views.js'

export const watch = defineVerb({
  summary:
    'Shows rates, states, queues and workers, again and again: in place on a terminal, else line by line. Ctrl-C ends it. Who the workers are it shows only to a token with the role admin.',
  examples: [
    { line: 'tenure watch', help: 'A live view.' },
    { line: 'tenure watch --interval 1m >> tenure.log', help: 'A line for each minute.' },
    {
      line: 'tenure watch --interval 10s --count 1 --json | jq .rates.completed',
      help: 'How many tasks are completed in a second, now.',
    },
  ],
  settings: {
    How: {
      interval: flag(duration(100, 86_400_000), {
        fallback: 2000,
        help: 'Between two looks.',
      }),
      count: flag(whole(1, 1_000_000_000), { help: 'Ends after so many intervals.' }),
    },
    ...outputSettings,
    ...clientSettings,
  },
  prepare(configuration) {
    const { interval: intervalMs, count, json } = configuration.values
    return withClient(
      configuration,
      async (tenure, host, role) => {
        const ending = new AbortController()
        void awaitStopSignal(host).then(() => ending.abort())
        const options = { intervalMs, count, signal: ending.signal }
        await showEachInterval(tenure, role, viewFor(host, json), options)
        return exitCodes.done
      },
      ['admin', 'produce'],
    )
  },
})

interface WatchOptions {
  readonly intervalMs: number
  /** How many intervals; without one it goes on until the signal says so. */
  readonly count: number | undefined
  readonly signal: AbortSignal
}

/** A coordinator that does not answer for so long is told of. */
const patienceMsMin = 2000

/** Asks in every interval, and shows what came of it. A lost connection does not end it. */
async function showEachInterval(tenure: Tenure, role: Role, view: View, options: WatchOptions) {
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
