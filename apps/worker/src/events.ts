import { type Logger, RateLimitedLines } from '@tenure/app-kit'
import { type FailedAttempt, RejectedError } from '@tenure/client'
import type { Clock } from '@tenure/seams'
import type { WorkerObserver } from '@tenure/worker-runtime'

const failuresPerSecondMax = 10

/** A line for each event of the worker that somebody wants to know of. Never a payload or a result. */
export function observeWorker(logger: Logger, clock?: Clock): WorkerObserver {
  const tellLeftOut = (count: number) => logger.warn({ leftOut: count }, 'more handlers failed')
  let failedAttempts = 0
  let lastFailure = ''
  const failures = new RateLimitedLines(failuresPerSecondMax, tellLeftOut, clock)
  return {
    connected: ({ epoch }, endpoint) => {
      failedAttempts = 0
      logger.info({ endpoint, epoch }, 'connected')
    },
    disconnected: ({ message }) => logger.warn({ detail: message }, 'connection lost'),
    attemptFailed: (attempt) => {
      const { endpoint, error } = attempt
      const [level, message] = describeFailure(attempt)
      failedAttempts = message === lastFailure ? failedAttempts + 1 : 1
      lastFailure = message
      // The first, the second, the fourth, the eighth …: a coordinator may be away for hours.
      if (!Number.isInteger(Math.log2(failedAttempts))) return
      const fields = { endpoint, attempt: failedAttempts, detail: error.message }
      logger[level](fields, message)
    },
    failed: ({ code, message }) => {
      logger.error({ code, detail: message }, 'the worker drains and exits')
    },
    // A refused heartbeat or report has a line of its own, with its task.
    protocolError: ({ reason, message }, what) => {
      if (what === 'lease') logger.error({ reason, detail: message }, 'rejected: a lease request')
    },
    modeChanged: (mode) => logger.debug({ mode }, 'mode changed'),
    pollFailed: ({ message }, retryInMs) => {
      logger.warn({ detail: message, retryInMs }, 'cannot ask for tasks')
    },
    leased: (task) => logger.debug(task, 'leased'),
    extended: (task, leftMs) =>
      logger.debug({ ...task, leftMs: Math.round(leftMs) }, 'lease extended'),
    heartbeatFailed: (task, { message }) => {
      logger.warn({ ...task, detail: message }, 'heartbeat not answered')
    },
    leaseLost: (task, reason) => {
      const what = reason === 'DEADLINE' ? 'the handler is told to end' : 'its work is stopped'
      logger.warn({ ...task, reason }, `lease lost; ${what}`)
    },
    aborted: (task, reason) => logger.warn({ ...task, reason }, 'the handler is aborted'),
    handlerStuck: (task) =>
      logger.error(task, 'the handler ignores its signal and cannot be terminated'),
    handlerEnded: (task, outcome, tookMs, wasAborted) => {
      const fields = { ...task, outcome: outcome.kind, tookMs: Math.round(tookMs) }
      if (outcome.kind === 'returned') logger.debug(fields, 'handler ended')
      else if (outcome.kind === 'terminated') logger.warn(fields, 'handler terminated')
      else if (wasAborted)
        logger.info({ ...fields, detail: outcome.reason }, 'handler ended as told')
      else
        failures.write(() => logger.warn({ ...fields, detail: outcome.reason }, 'handler failed'))
    },
    // Apart from ours: a handler's `level` or `msg` would stand for that of the line.
    logged: (task, level, message, fields) => {
      logger[level]({ ...task, fields }, message)
    },
    reportedLate: (task) => logger.info(task, 'reported after the deadline'),
    committed: (task, { state }) => logger.debug({ ...task, state }, 'committed'),
    cancelled: (task, { reason, supersededBy }) => {
      logger.warn(
        { ...task, reason, supersededBy },
        'cancelled: the report came too late, its result is dropped',
      )
    },
    rejected: (task, { reason, message }, what) => {
      logger.error(
        { ...task, reason, detail: message },
        `rejected: the ${what} made no sense to the coordinator`,
      )
    },
    unreported: (task, reason) => logger.warn({ ...task, reason }, 'not reported'),
    hostCrashed: (reason) => logger.warn({ detail: reason }, 'a host without a task ended'),
  }
}

/** Whether it is there at all, and whether it will ever let us in, are different things to look into. */
function describeFailure({ error, retryInMs }: FailedAttempt): ['warn' | 'error', string] {
  if (!(error instanceof RejectedError)) return ['warn', 'no coordinator there; trying on']
  if (retryInMs === undefined) return ['error', 'the coordinator refuses this worker']
  return ['warn', 'the coordinator lets nobody in now; trying on']
}
