import { randomFillSync } from 'node:crypto'
import { Latencies } from '@tenure/harness'
import type { Sample } from './result.js'
import type { Store } from './store.js'

export interface Load {
  readonly appenders: number
  readonly recordBytes: number
  /** With more than one, every append is a batch. */
  readonly recordsPerAppend: number
}

export interface Window {
  readonly warmUpMs: number
  readonly windowMs: number
  /** Called when the measurement starts and when it ends. */
  readonly onBegin?: () => void
  readonly onEnd?: () => void
}

/** Only this many appenders measure latency, because clocking all of them would distort the result. */
const clockedAppenders = 16

/** A slow system gets more time, until every appender has appended twice, but at most this long. */
const windowMsMax = 5000

/** Random bytes, because LevelDB compresses others. */
export function makeRecord(bytes: number): Uint8Array {
  return randomFillSync(new Uint8Array(bytes))
}

/** Runs the appenders, each appending again as soon as its record is durable, and measures them. */
export async function driveAppenders(store: Store, load: Load, window: Window): Promise<Sample> {
  const latencies = new Latencies()
  const record = makeRecord(load.recordBytes)
  const records = Array.from({ length: load.recordsPerAppend }, () => record)
  const append =
    load.recordsPerAppend === 1 ? () => store.append(record) : () => store.appendAll(records)
  let appends = 0
  let isOver = false

  async function appendAgainAndAgain(): Promise<void> {
    while (!isOver) {
      await append()
      appends++
    }
  }

  async function appendByTheClock(): Promise<void> {
    while (!isOver) {
      const startedMs = performance.now()
      await append()
      latencies.add(performance.now() - startedMs)
      appends++
    }
  }

  /** Waits for the given time, and until every appender has completed this many appends. */
  async function letRun(ms: number, times: number): Promise<void> {
    const startedMs = performance.now()
    const enough = appends + times * load.appenders
    await pause(ms)
    while (appends < enough && performance.now() - startedMs < windowMsMax) await pause(5)
  }

  // Clocked appenders are spread among the others, because the order of appenders persists.
  const every = Math.ceil(load.appenders / clockedAppenders)
  const running = Array.from({ length: load.appenders }, (_, index) =>
    index % every === 0 ? appendByTheClock() : appendAgainAndAgain(),
  )
  const failure = Promise.all(running)
  // A failed appender fails the measurement immediately.
  await Promise.race([letRun(window.warmUpMs, 1), failure])
  latencies.clear()
  window.onBegin?.()
  const appendsBefore = appends
  const startedMs = performance.now()
  await Promise.race([letRun(window.windowMs, 2), failure])
  const seconds = (performance.now() - startedMs) / 1000
  const appendsInWindow = appends - appendsBefore
  window.onEnd?.()
  const sample = {
    recordsPerSecond: (appendsInWindow * load.recordsPerAppend) / seconds,
    p50Ms: latencies.quantile(0.5),
    p99Ms: latencies.quantile(0.99),
    p999Ms: latencies.quantile(0.999),
  }
  isOver = true
  await failure
  return sample
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
