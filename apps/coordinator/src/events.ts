import { type Logger, RationedLines } from '@tenure/app-kit'
import type { CoordinatorOptions, ServerObserver } from '@tenure/coordinator-server'
import type { Clock } from '@tenure/seams'

type LogObserver = NonNullable<NonNullable<CoordinatorOptions['log']>['observer']>

const refusalsPerSecondMax = 10
const progressEveryMs = 1000

/** A line for each event of the coordinator that an operator wants to know of. */
export function observeServer(logger: Logger, clock?: Clock): ServerObserver {
  const tellLeftOut = (count: number) => logger.warn({ leftOut: count }, 'more peers refused')
  const refusals = new RationedLines(refusalsPerSecondMax, tellLeftOut, clock)
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
        'the clock is behind the last time in the log; until it catches up, tasks with an absolute start time start early',
      )
    },
    fewerConnections: (connectionsMax) => {
      const text =
        'the limit on open files (ulimit -n) lets in fewer connections than were asked for'
      logger.warn({ connectionsMax }, text)
    },
    recovered: ({ badCheckpoints, strandedSegments, tornTail }) => {
      for (const { lsn, why } of badCheckpoints) {
        logger.warn({ lsn, why }, 'a checkpoint cannot be read: the start does without it')
      }
      for (const segment of strandedSegments) {
        const text = 'nothing links this segment to the rest of the log; a checkpoint covers it'
        logger.warn({ segment, next: 'tenure log doctor' }, text)
      }
      if (tornTail !== undefined) {
        const text = 'a write at the end was never acknowledged: nothing is lost, it was cut off'
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
      if (isLow) logger.warn({ freeBytes }, 'the disk is getting full')
      else logger.info({ freeBytes }, 'the disk has enough room again')
    },
    historyRemoved: ({ segments, bytes }) => {
      logger.warn(
        { segments, bytes },
        'the disk is full: history was removed that no restart needs',
      )
    },
    checkpointFailed: (error) => {
      logger.error({ err: error }, 'no checkpoint could be made: it is tried again in a minute')
    },
    // What the peer sent stays in a field of its own, where it is quoted.
    refused: ({ address, reason, message }) => {
      refusals.write(() => logger.warn({ address, reason, detail: message }, 'peer refused'))
    },
  }
}

const clockGuide = 'docs/operations.md, "A clock that leapt"'

/** The same for its log on the disk. */
export function observeLog(logger: Logger): LogObserver {
  return {
    spaceChanged: (isFull) => {
      if (isFull) logger.error('disk full: what needs room is refused until there is some')
      else logger.info('disk has room again')
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
