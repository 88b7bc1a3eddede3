import { askScript, median, tellStep } from '@tenure/harness'
import { readSegmentsMs } from './limit.js'
import type { Bench } from './options.js'
import { type CaseName, type Result, round, type SystemName, summarize } from './result.js'
import type { StoreName } from './store.js'
import { openStore, storeNames } from './stores.js'

const child = new URL('./child.js', import.meta.url)
const recordBytes = 128

/**
 * Opening after a crash, and replay. Processes that are killed write the stores. Every open happens
 * in a process that is killed, too, so that the next open also follows a crash. The data was just
 * written, so all reads come from the page cache, for every system and for the limit.
 */
export async function measureRecovery(bench: Bench): Promise<Result[]> {
  const { pace, directory } = bench
  const built: Partial<Record<StoreName, number>> = {}
  for (const name of storeNames) {
    const size = `${Math.round(pace.storeBytes / 2 ** 20)} MiB`
    tellStep(`writing ${size} into ${name}, for opening and replay`)
    const task = ['build', name, directory.join(name), String(pace.storeBytes)]
    built[name] = (await askScript<{ records: number }>(child, task)).records
  }
  const records = built.tenure ?? 0
  tellStep('opening after a crash')
  const opening = await measureOpening(bench)
  tellStep('replay')
  const replay = await measureReplay(bench)
  const results: Result[] = []
  for (const system of ['tenure', 'limit', 'lmdb', 'leveldb'] as const) {
    const own = system === 'limit' ? records : (built[system] ?? 0)
    results.push(resultOf('open', system, own, opening[system], opening.limit))
    results.push(resultOf('replay', system, own, replay[system], replay.limit))
  }
  return results.sort((a, b) => a.case.localeCompare(b.case))
}

type Durations = Record<SystemName, number[]>

async function measureOpening({ pace, directory }: Bench): Promise<Durations> {
  const durations: Durations = { tenure: [], limit: [], lmdb: [], leveldb: [] }
  for (let done = 0; done < pace.opens; done++) {
    for (const name of storeNames) {
      const { openMs } = await askScript<{ openMs: number }>(child, [
        'open',
        name,
        directory.join(name),
      ])
      durations[name].push(openMs)
      if (name === 'tenure') durations.limit.push(readSegmentsMs(directory.join(name)))
    }
  }
  return durations
}

async function measureReplay({ pace, directory }: Bench): Promise<Durations> {
  const durations: Durations = { tenure: [], limit: [], lmdb: [], leveldb: [] }
  for (let done = 0; done < pace.replays; done++) {
    for (const name of storeNames) {
      const store = await openStore[name](directory.join(name))
      const startedMs = performance.now()
      await store.replay()
      durations[name].push(performance.now() - startedMs)
      await store.close()
      if (name === 'tenure') durations.limit.push(readSegmentsMs(directory.join(name)))
    }
  }
  return durations
}

function resultOf(
  name: CaseName,
  system: SystemName,
  records: number,
  durations: readonly number[],
  limit: readonly number[],
): Result {
  const samples = durations.map((durationMs) => ({
    recordsPerSecond: (records * 1000) / durationMs,
    p50Ms: durationMs,
    p99Ms: Math.max(...durations),
    p999Ms: Math.max(...durations),
  }))
  const ratio = median(durations.map((durationMs, index) => limit[index]! / durationMs))
  return {
    system,
    case: name,
    appenders: 0,
    recordBytes,
    sync: 'always',
    ...summarize(samples, recordBytes),
    records,
    ratioToLimit: system === 'tenure' ? (round(ratio) ?? 0) : undefined,
  }
}
