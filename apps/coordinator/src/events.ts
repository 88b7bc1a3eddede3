import { type Logger, RateLimitedLines } from '@tenure/app-kit'
import type { CoordinatorOptions, ServerObserver } from '@tenure/coordinator-server'
import type { Clock } from '@tenure/seams'

type LogObserver = NonNullable<NonNullable<CoordinatorOptions['log']>['observer']>

const refusalsPerSecondMax = 10
const progressEveryMs = 1000

/** Logs the coordinator's events that matter to operators. */
export function observeServer(logger: Logger, clock?: Clock): ServerObserver {
  const tellLeftOut = (count: number) => logger.warn({ leftOut: count }, 'more peers rejected')
  const refusals = new RateLimitedLines(refusalsPerSecondMax, tellLeftOut, clock)
  let nextProgressMs = progressEveryMs
  return {
    replaying: (progress) => {
      if (progress.ms < nextProgressMs) return
      nextProgressMs = progress.ms + progressEveryMs
      logger.info(describeProgress(progress), 'replaying')
    },
    started: ({ recoveryMs, openMs, replayMs, checkpointMs, expiryMs, ...facts }) => {
      const times = Object.entries({ recoveryMs, openMs, replayMs, checkpointMs, expiryMs })
      const rounded = Object.fromEntries(times.map(([name, ms]) => [name, Math.round(ms)]))
      logger.info({ ...facts, ...rounded }, 'started')
    },
    clockAhead: (aheadMs) => {
      const aheadHours = Math.round(aheadMs / 3_600_000)
      logger.warn({ aheadHours }, 'the clock is more than a day ahead of the last time in the log')
    },
    clockBehind: (behindMs) => {
      logger.warn(
        { behindSeconds: Math.round(behindMs / 1000), see: clockGuide },
        'the clock is behind the last time in the log; tasks with an absolute start time start early until it catches up',
      )
    },
    fewerConnections: (connectionsMax) => {
      const text =
        'the open file limit (ulimit -n) is too low for --connections-max; accepting fewer connections'
      logger.warn({ connectionsMax }, text)
    },
    recovered: ({ badCheckpoints, strandedSegments, tornTail }) => {
      for (const { lsn, why } of badCheckpoints) {
        logger.warn({ lsn, why }, 'skipped an unreadable checkpoint')
      }
      for (const segment of strandedSegments) {
        const text = 'segment is not linked to the rest of the log; a checkpoint covers its records'
        logger.warn({ segment, next: 'tenure log doctor' }, text)
      }
      if (tornTail !== undefined) {
        const text = 'removed an incomplete write at the end of the log; it was never acknowledged'
        logger.warn({ why: tornTail }, text)
      }
    },
    checkpointBegun: (lsn) => logger.debug({ lsn }, 'making a checkpoint'),
    checkpointed: ({ lsn, tasks, replayed, replayMs, writeMs, removed }) => {
      const ms = Math.round(replayMs + writeMs)
      const { segments, bytes } = removed
      logger.info({ lsn, tasks, replayed, ms, removed: { segments, bytes } }, 'checkpoint made')
    },
    diskLow: (isLow, freeBytes) => {
      if (isLow) logger.warn({ freeBytes }, 'disk space is low')
      else logger.info({ freeBytes }, 'disk space is sufficient again')
    },
    historyRemoved: ({ segments, bytes }) => {
      logger.warn({ segments, bytes }, 'disk full: removed history that no restart needs')
    },
    checkpointFailed: (error) => {
      logger.error({ err: error }, 'checkpoint failed; retrying in a minute')
    },
    // The peer's input goes into a separate field, where it is quoted.
    refused: ({ address, reason, message }) => {
      refusals.write(() => logger.warn({ address, reason, detail: message }, 'peer rejected'))
    },
  }
}

const clockGuide = 'docs/operations.md, "A clock that leapt"'

/** Logs the log's disk events. */
export function observeLog(logger: Logger): LogObserver {
  return {
    spaceChanged: (isFull) => {
      if (isFull) logger.error('disk full: rejecting requests that need disk space')
      else logger.info('disk has space again')
    },
  }
}

interface Progress {
  readonly applied: number
  readonly total: number
  readonly ms: number
}

function describeProgress({ applied, total, ms }: Progress) {
  const perSecond = (applied * 1000) / ms
  return {
    recordsPerSecond: Math.round(perSecond),
    percent: Math.floor((applied * 100) / total),
    secondsLeft: Math.ceil((total - applied) / perSecond),
  }
}
