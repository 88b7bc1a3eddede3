import { median, tellStep } from '@tenure/harness'
import { driveAppenders, type Load } from './appenders.js'
import { LimitFile } from './limit.js'
import type { Bench, Pace } from './options.js'
import { type Result, round, type Sample, summarize } from './result.js'
import type { StoreName } from './store.js'
import { openStore } from './stores.js'
import { openTenure, type TenureStore } from './tenure-store.js'

const loads: readonly Load[] = [
  { appenders: 1, recordBytes: 128, recordsPerAppend: 1 },
  { appenders: 16, recordBytes: 128, recordsPerAppend: 1 },
  { appenders: 64, recordBytes: 128, recordsPerAppend: 1 },
  { appenders: 256, recordBytes: 128, recordsPerAppend: 1 },
  { appenders: 1024, recordBytes: 128, recordsPerAppend: 1 },
  { appenders: 4096, recordBytes: 128, recordsPerAppend: 1 },
  { appenders: 64, recordBytes: 1024, recordsPerAppend: 1 },
  { appenders: 64, recordBytes: 65_536, recordsPerAppend: 1 },
  { appenders: 1, recordBytes: 128, recordsPerAppend: 1000 },
]

/** The systems, in the order in which they are measured for one load. */
const columns = ['tenure', 'pool', 'loop', 'lmdb', 'leveldb'] as const
type Column = (typeof columns)[number]
type Samples = Record<Column, Sample[]>

/** Single appends and batches: every system in turn, round after round. */
export async function measureAppends(bench: Bench): Promise<Result[]> {
  const { pace } = bench
  const all = loads.map((load) => {
    const samples: Samples = { tenure: [], pool: [], loop: [], lmdb: [], leveldb: [] }
    return { load, samples }
  })
  const startedMs = performance.now()
  for (let done = 0; done < pace.rounds; done++) {
    const passedMs = performance.now() - startedMs
    if (done > 0 && passedMs + passedMs / done > pace.appendBudgetMs) break
    await measureRound(bench, done + 1, all)
  }
  return all.flatMap(({ load, samples }) => resultsOf(load, samples))
}

async function measureRound(
  bench: Bench,
  number: number,
  all: readonly { readonly load: Load; readonly samples: Samples }[],
): Promise<void> {
  const { pace, directory } = bench
  tellStep(`round ${number} of ${pace.rounds}: bringing a log into steady state`)
  const { segmentBytes } = pace
  const tenure = await openTenure(directory.join('tenure'), { segmentBytes })
  const limit = new LimitFile(directory.join('limit'))
  await tenure.reachSteadyState(segmentBytes)
  for (const { load, samples } of all) {
    tellStep(`round ${number} of ${pace.rounds}: ${describeLoad(load)}`)
    const own = await measureTenure(tenure, load, pace)
    samples.tenure.push(own)
    for (const way of ['pool', 'loop'] as const) {
      samples[way].push(
        await limit.measure(way, own.bytesPerWrite, own.recordsPerWrite, pace.limitWindowMs),
      )
    }
    samples.lmdb.push(await measureOther(bench, 'lmdb', load))
    samples.leveldb.push(await measureOther(bench, 'leveldb', load))
  }
  limit.close()
  await tenure.close()
  directory.empty('limit')
  directory.empty('tenure')
}

export async function measureTenure(
  tenure: TenureStore,
  load: Load,
  pace: Pick<Pace, 'warmUpMs' | 'windowMs'>,
) {
  let before = tenure.written
  let after = before
  const sample = await driveAppenders(tenure, load, {
    ...pace,
    onBegin: () => {
      before = tenure.written
    },
    onEnd: () => {
      after = tenure.written
    },
  })
  // The segment in preparation must not slow the next measurement.
  await tenure.rest()
  const batches = Math.max(1, after.batches - before.batches)
  return {
    ...sample,
    bytesPerWrite: (after.bytes - before.bytes) / batches,
    recordsPerWrite: (after.records - before.records) / batches,
  }
}

/** Uses a fresh database each time. Closing it ends its background work. */
async function measureOther(bench: Bench, name: StoreName, load: Load): Promise<Sample> {
  const store = await openStore[name](bench.directory.join(name))
  const sample = await driveAppenders(store, load, bench.pace)
  await store.close()
  bench.directory.empty(name)
  return sample
}

function resultsOf(load: Load, samples: Samples): Result[] {
  const better = rateOf(samples.loop) > rateOf(samples.pool) ? samples.loop : samples.pool
  return columns.map((column) => {
    const own = samples[column]
    const way = column === 'pool' || column === 'loop' ? column : undefined
    return {
      system: way === undefined ? (column as StoreName) : 'limit',
      case: load.recordsPerAppend === 1 ? 'append' : 'batch',
      appenders: load.appenders,
      recordBytes: load.recordBytes,
      sync: 'always',
      ...summarize(own, load.recordBytes),
      recordsPerAppend: load.recordsPerAppend,
      way,
      ...bytesPerWriteOf(own),
      ...(column === 'tenure' ? ratiosOf(own, better, samples.pool) : undefined),
    }
  })
}

function bytesPerWriteOf(samples: readonly Sample[]) {
  const bytes = round(median(samples.map((sample) => sample.bytesPerWrite ?? Number.NaN)))
  return bytes === null ? {} : { bytesPerWrite: bytes }
}

/** Ratios are taken per round, because a disturbance of the machine affects both figures of a round. */
export function ratiosOf(
  own: readonly Sample[],
  better: readonly Sample[],
  pool: readonly Sample[],
) {
  const to = (limit: readonly Sample[]) =>
    Number(
      median(
        own.map((sample, index) => sample.recordsPerSecond / limit[index]!.recordsPerSecond),
      ).toFixed(3),
    )
  return { ratioToLimit: to(better), ratioToPool: to(pool) }
}

export function rateOf(samples: readonly Sample[]): number {
  return median(samples.map((sample) => sample.recordsPerSecond))
}

function describeLoad({ appenders, recordBytes, recordsPerAppend }: Load): string {
  const who = appenders === 1 ? 'one appender' : `${appenders} appenders`
  const what = recordsPerAppend === 1 ? 'records' : `batches of ${recordsPerAppend} records`
  return `${who}, ${what} of ${recordBytes} bytes`
}
