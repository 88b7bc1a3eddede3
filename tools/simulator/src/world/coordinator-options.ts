import type { CoordinatorOptions } from '@tenure/coordinator-server'
import type { Clock } from '@tenure/seams'
import type { LogOptions } from '@tenure/wal'
import type { ScenarioKnobs } from '../scenario/scenario.js'

export const directory = '/data'

/** Small segments, so that a few tasks with large payloads fill some. */
const payloadBytesMax = 8 * 1024
const appendBytesMax = payloadBytesMax + 64 * 1024
const segmentBytes = appendBytesMax + 4096

export const logOptions: LogOptions = {
  segmentBytes,
  appendBytesMax,
  randomBytes: (count) => new Uint8Array(count).fill(0xa5),
}

export function serverOptions(knobs: ScenarioKnobs): CoordinatorOptions {
  const { leaseDurationMs, heartbeatIntervalMs, poisonThreshold } = knobs
  const { retentionMs, retentionTasks, waitingTasksMax } = knobs
  return {
    dataDir: directory,
    httpPort: false,
    diskLowBytes: 0,
    knobs: {
      leaseDurationMs,
      heartbeatIntervalMs,
      poisonThreshold,
      retentionMs,
      retentionTasks,
      waitingTasksMax,
      payloadBytesMax,
      resultBytesMax: 1024,
      waitMsMax: 5000,
    },
    // Everything that no restart needs is removed at the next checkpoint.
    checkpoints: { historyMs: 0, historyBytesMax: 0 },
  }
}

/**
 * The clock of the log. No time passes during a call on the event loop, so on a slow disk this
 * clock adds two milliseconds to each write there. The log then moves later writes to the thread
 * pool.
 */
export function logClock(clock: Clock, isSlow: boolean): Clock {
  if (!isSlow) return clock
  let slowMs = 0
  return {
    ...clock,
    monotonicMs: () => {
      slowMs += 2
      return clock.monotonicMs() + slowMs
    },
  }
}
