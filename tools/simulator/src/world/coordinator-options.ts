import type { CoordinatorOptions } from '@tenure/coordinator-server'
import type { Clock } from '@tenure/seams'
import type { LogOptions } from '@tenure/wal'
import type { ScenarioKnobs } from '../scenario/scenario.js'

export const directory = '/data'

/** Small ones, so that some are full after a few tasks with large payloads. */
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
    // What is not needed for a restart goes with the next checkpoint.
    checkpoints: { historyMs: 0, historyBytesMax: 0 },
  }
}

/**
 * The clock of the log. On a slow disk a write seems to take two milliseconds to it also when it is
 * made on the event loop, where no time passes here: so the next ones go to the thread pool.
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
