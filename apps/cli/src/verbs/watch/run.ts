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
    'Watch rates, states, queues and workers live. Redraws in place on a terminal, otherwise prints one line per interval. Press Ctrl-C to stop. The list of workers requires a token with the role admin.',
  examples: [
    { line: 'tenure watch', help: 'Watch the system live.' },
    {
      line: 'tenure watch --interval 1m >> tenure.log',
      help: 'Write one line per minute to a file.',
    },
    {
      line: 'tenure watch --interval 10s --count 1 --json | jq .rates.completed',
      help: 'Print the current rate of completed tasks per second.',
    },
  ],
  settings: {
    Flags: {
      interval: flag(duration(100, 86_400_000), {
        fallback: 2000,
        help: 'Refresh interval.',
      }),
      count: flag(whole(1, 1_000_000_000), { help: 'Stop after this many intervals.' }),
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
  /** Number of intervals; without one, only the signal stops the watch. */
  readonly count: number | undefined
  readonly signal: AbortSignal
}

/** Minimum timeout of a request. */
const timeoutMsMin = 2000

/** Takes and shows a sample per interval. A lost connection does not end the watch. */
async function showEachInterval(tenure: Tenure, role: Role, view: View, options: WatchOptions) {
  const { intervalMs, count = Number.POSITIVE_INFINITY, signal } = options
  const call = { signal, timeoutMs: Math.max(timeoutMsMin, intervalMs) }
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

/** The client keeps reconnecting, but a rejection is final. */
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
