import { Latencies, tellStep } from '@tenure/harness'
import { makeRecord } from './appenders.js'
import type { Bench } from './options.js'
import { type Result, round } from './result.js'
import { openTenure } from './tenure-store.js'

const recordBytes = 128
/** Only this many appenders measure latency, because clocking all of them would distort the result. */
const clockedAppenders = 64
/** Time is cut into windows of this length. A window counts by what happened in it. */
const windowMs = 100

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/**
 * Latency of appends during segment rolls and between them, under the load of the target and under
 * one that fills segments as fast as possible.
 */
export async function measureRolls(bench: Bench): Promise<Result[]> {
  return [await measureRollsUnder(bench, 64), await measureRollsUnder(bench, 1024)]
}

async function measureRollsUnder(bench: Bench, appenders: number): Promise<Result> {
  const { pace, directory } = bench
  const loadMs = pace.rollMs / 2
  tellStep(`${appenders} appenders across segment rolls`)
  const rolls: Span[] = []
  const preparations: Span[] = []
  const store = await openTenure(directory.join('rolling'), {
    segmentBytes: pace.segmentBytes,
    also: {
      rolled: ({ durationMs }) => rolls.push(spanUntilNow(durationMs)),
      sparePrepared: ({ durationMs }) => preparations.push(spanUntilNow(durationMs)),
    },
  })
  await store.reachSteadyState(pace.segmentBytes)
  rolls.length = 0
  preparations.length = 0
  const samples = new Samples()
  let isOver = false
  const record = makeRecord(recordBytes)
  const startedMs = performance.now()
  const endMs = startedMs + loadMs
  let appends = 0
  async function appendUntilTheEnd(isClocked: boolean): Promise<void> {
    let fromMs = performance.now()
    while (!isOver) {
      await store.append(record)
      appends++
      if (!isClocked) continue
      const toMs = performance.now()
      samples.push(fromMs, toMs)
      fromMs = toMs
      isOver = toMs >= endMs || samples.isFull
    }
  }
  const every = Math.ceil(appenders / clockedAppenders)
  await Promise.all(
    Array.from({ length: appenders }, (_, index) => appendUntilTheEnd(index % every === 0)),
  )
  const seconds = (performance.now() - startedMs) / 1000
  await store.rest()
  await store.close()
  directory.empty('rolling')
  return resultOf(appenders, samples, rolls, preparations, appends / seconds)
}

function resultOf(
  appenders: number,
  samples: Samples,
  rolls: readonly Span[],
  preparations: readonly Span[],
  recordsPerSecond: number,
): Result {
  const all = new Latencies()
  const across = new Latencies()
  const between = new Latencies()
  const preparing = new Latencies()
  const rollWindows = windowsOf(rolls)
  const preparationWindows = windowsOf(preparations)
  let longestStallMs = 0
  for (let index = 0; index < samples.length; index++) {
    const { fromMs, toMs } = samples.at(index)
    const durationMs = toMs - fromMs
    const window = Math.floor(toMs / windowMs)
    all.add(durationMs)
    if (rollWindows.has(window)) across.add(durationMs)
    else between.add(durationMs)
    if (preparationWindows.has(window) && !rollWindows.has(window)) preparing.add(durationMs)
    if (durationMs <= longestStallMs) continue
    if (rolls.some((roll) => roll.fromMs < toMs && roll.toMs > fromMs)) longestStallMs = durationMs
  }
  return {
    system: 'tenure',
    case: 'roll',
    appenders,
    recordBytes,
    sync: 'always',
    recordsPerSecond: round(recordsPerSecond),
    p50Ms: round(all.quantile(0.5)),
    p99Ms: round(all.quantile(0.99)),
    p999Ms: round(all.quantile(0.999)),
    bytesPerSecond: round(recordsPerSecond * recordBytes),
    rounds: 1,
    rolls: rolls.length,
    p999AcrossRollsMs: round(across.quantile(0.999)),
    p999BetweenRollsMs: round(between.quantile(0.999)),
    p999PreparingMs: round(preparing.quantile(0.999)),
    longestStallMs: rolls.length === 0 ? null : round(longestStallMs),
    longestRollMs: rolls.length === 0 ? null : round(Math.max(...rolls.map(durationOf))),
  }
}

function spanUntilNow(durationMs: number): Span {
  const toMs = performance.now()
  return { fromMs: toMs - durationMs, toMs }
}

function durationOf({ fromMs, toMs }: Span): number {
  return toMs - fromMs
}

function windowsOf(spans: readonly Span[]): Set<number> {
  const windows = new Set<number>()
  for (const { fromMs, toMs } of spans) {
    const last = Math.floor(toMs / windowMs)
    for (let window = Math.floor(fromMs / windowMs); window <= last; window++) windows.add(window)
  }
  return windows
}

/** Start and end of each append. Which windows contain a roll is known only afterwards. */
class Samples {
  readonly #times = new Float64Array(2 * 12_000_000)
  #length = 0

  get length(): number {
    return this.#length
  }

  get isFull(): boolean {
    return 2 * this.#length >= this.#times.length
  }

  push(fromMs: number, toMs: number): void {
    this.#times[2 * this.#length] = fromMs
    this.#times[2 * this.#length + 1] = toMs
    this.#length++
  }

  at(index: number): Span {
    return { fromMs: this.#times[2 * index]!, toMs: this.#times[2 * index + 1]! }
  }
}
