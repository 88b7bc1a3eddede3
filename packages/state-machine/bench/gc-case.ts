import { PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Pace } from './pace.js'
import { Recording } from './recording.js'
import { atMost, type Result, round } from './result.js'
import { WaitingStream } from './streams.js'
import { Subject } from './subject.js'

const liveTasks = 1_000_000
const operationsPerSecond = 50_000
const warmUpMs = 1000

/** Pauses of the garbage collector in a busy process with a million tasks. */
export async function measureGc(pace: Pace): Promise<Result[]> {
  const subject = new Subject()
  const stream = new WaitingStream(liveTasks, 0.5)
  subject.fill(stream)
  const recording = new Recording()
  stream.maker.sink = (record) => recording.add(record)
  const records = ((warmUpMs + pace.gcMs) / 1000 + 1) * operationsPerSecond
  while (recording.length < records) stream.step()
  gc!()

  const pauses: { readonly startTime: number; readonly duration: number }[] = []
  const observer = new PerformanceObserver((list) => pauses.push(...list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  const first = await drive(subject, recording, 0, warmUpMs)
  const beganAt = performance.now()
  const second = await drive(subject, recording, first.played, pace.gcMs)
  const endedAt = performance.now()
  // Entries are delivered a little later.
  await pause(100)
  observer.disconnect()
  const startedMs = performance.now()
  gc!()
  const forcedMs = performance.now() - startedMs

  const counted = pauses
    .filter(({ startTime }) => startTime >= beganAt && startTime < endedAt)
    .map(({ duration }) => duration)
  const longestPauseMs = round(Math.max(0, ...counted))
  return [
    {
      case: 'gc',
      variant: 'steady load',
      longestPauseMs,
      rounds: 1,
      ...atMost(50, longestPauseMs),
      details: {
        longestTickDelayMs: round(second.longestDelayMs),
        collections: counted.length,
        totalPauseMs: round(counted.reduce((sum, duration) => sum + duration, 0)),
        // A full collection in one step, which V8 avoids with small steps and other threads.
        forcedCollectionMs: round(forcedMs),
        operationsPerSecond: round(((second.played - first.played) / (endedAt - beganAt)) * 1000),
        busyShare: round(second.busyMs / (endedAt - beganAt)),
        seconds: pace.gcMs / 1000,
        liveTasks,
      },
    },
  ]
}

/** Applies the due records every millisecond. After a delay, applies all missed ones. */
async function drive(subject: Subject, recording: Recording, from: number, forMs: number) {
  const startedMs = performance.now()
  let played = from
  let longestDelayMs = 0
  let busyMs = 0
  let nowMs = startedMs
  while (nowMs - startedMs < forMs && played < recording.length) {
    const dueUntil = from + Math.floor(((nowMs - startedMs) / 1000) * operationsPerSecond)
    const views = recording.views(played, dueUntil - played)
    subject.play(views)
    played += views.length
    busyMs += performance.now() - nowMs
    await pause(1)
    const nextMs = performance.now()
    // Measured from tick to tick, so that a pause during the work counts, too.
    longestDelayMs = Math.max(longestDelayMs, nextMs - nowMs - 1)
    nowMs = nextMs
  }
  return { played, longestDelayMs, busyMs }
}
