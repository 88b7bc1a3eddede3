import type { Entry } from '../follow/entry.js'
import type { Forecast, ForecastOptions } from './forecast.js'
import { Forecaster } from './forecaster.js'
import type { WhatIfKnobs } from './knobs.js'

/** Lists of entries, as `History` reads them; or one list. */
export type Entries = AsyncIterable<readonly Entry[]> | Iterable<readonly Entry[]>

/** Replays a history under other knobs. Every record is looked at once, and few are kept. */
export async function forecast(
  entries: Entries,
  knobs: WhatIfKnobs,
  options: ForecastOptions = {},
): Promise<Forecast> {
  const forecaster = new Forecaster(knobs, options)
  let read = 0
  for await (const run of entries) {
    for (const entry of run) forecaster.add(entry)
    read += run.length
    options.onProgress?.(read)
  }
  return forecaster.finish()
}
