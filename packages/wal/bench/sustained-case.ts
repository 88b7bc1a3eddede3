import { tellStep } from '@tenure/harness'
import { measureTenure, rateOf, ratiosOf } from './append-cases.js'
import { LimitFile } from './limit.js'
import type { Bench } from './options.js'
import { type Result, round, type Sample, summarize } from './result.js'
import { openTenure } from './tenure-store.js'

const load = { appenders: 64, recordBytes: 65_536, recordsPerAppend: 1 }

/**
 * Large records for minutes, in steady state: more than any cache between the log and the disk can
 * hold back. Bare writes of the same bytes alternate with the log, slice by slice.
 */
export async function measureSustained({ pace, directory }: Bench): Promise<Result> {
  const { segmentBytes, slices, sliceMs, warmUpMs } = pace
  const store = await openTenure(directory.join('sustained'), { segmentBytes })
  const limit = new LimitFile(directory.join('limit'))
  await store.reachSteadyState(segmentBytes)
  const own: Sample[] = []
  const limits: Record<'loop' | 'pool', Sample[]> = { loop: [], pool: [] }
  for (let slice = 1; slice <= slices; slice++) {
    tellStep(`slice ${slice} of ${slices}: 64 appenders, records of 64 KiB`)
    const sample = await measureTenure(store, load, { warmUpMs, windowMs: sliceMs })
    own.push(sample)
    for (const way of ['loop', 'pool'] as const) {
      const { bytesPerWrite, recordsPerWrite } = sample
      limits[way].push(
        await limit.measure(way, bytesPerWrite, recordsPerWrite, pace.limitWindowMs * 2),
      )
    }
  }
  limit.close()
  await store.close()
  directory.empty('limit')
  directory.empty('sustained')
  const better = rateOf(limits.loop) > rateOf(limits.pool) ? limits.loop : limits.pool
  return {
    system: 'tenure',
    case: 'sustained',
    appenders: load.appenders,
    recordBytes: load.recordBytes,
    sync: 'always',
    ...summarize(own, load.recordBytes),
    ...ratiosOf(own, better, limits.pool),
    longestStallMs: round(Math.max(...own.map(({ p999Ms }) => p999Ms))),
  }
}
