import { type Logger, RateLimitedLines } from '@tenure/app-kit'
import { type FailedAttempt, RejectedError } from '@tenure/client'
import type { Clock } from '@tenure/seams'
import type { WorkerObserver } from '@tenure/worker-runtime'

const failuresPerSecondMax = 10

/** Logs one line per event that an operator needs. Never logs a payload or a result. */
export function observeWorker(logger: Logger, clock?: Clock): WorkerObserver {
  const tellLeftOut = (count: number) =>
    logger.warn({ leftOut: count }, 'more handlers failed; their lines are dropped')
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
      // Logs attempts 1, 2, 4, 8 and so on: a coordinator may be away for hours.
      if (!Number.isInteger(Math.log2(failedAttempts))) return
      const fields = { endpoint, attempt: failedAttempts, detail: error.message }
      logger[level](fields, message)
    },
    failed: ({ code, message }) => {
      logger.error({ code, detail: message }, 'the worker failed; it drains and exits')
    },
    // A rejected heartbeat or report has its own line, with its task.
    protocolError: ({ reason, message }, what) => {
      if (what === 'lease') logger.error({ reason, detail: message }, 'rejected: a lease request')
    },
    modeChanged: (mode) => logger.debug({ mode }, 'mode changed'),
    pollFailed: ({ message }, retryInMs) => {
      logger.warn({ detail: message, retryInMs }, 'cannot lease tasks')
    },
    leased: (task) => logger.debug(task, 'leased'),
    extended: (task, leftMs) =>
      logger.debug({ ...task, leftMs: Math.round(leftMs) }, 'lease extended'),
    heartbeatFailed: (task, { message }) => {
      logger.warn({ ...task, detail: message }, 'heartbeat not answered')
    },
    leaseLost: (task, reason) => {
      const what = reason === 'DEADLINE' ? 'the handler is aborted' : 'the handler is terminated'
      logger.warn({ ...task, reason }, `lease lost; ${what}`)
    },
    aborted: (task, reason) => logger.warn({ ...task, reason }, 'handler aborted'),
    handlerStuck: (task) =>
      logger.error(task, 'handler stuck: it ignores its signal and cannot be terminated'),
    handlerEnded: (task, outcome, tookMs, wasAborted) => {
      const fields = { ...task, outcome: outcome.kind, tookMs: Math.round(tookMs) }
      if (outcome.kind === 'returned') logger.debug(fields, 'handler ended')
      else if (outcome.kind === 'terminated') logger.warn(fields, 'handler terminated')
      else if (wasAborted)
        logger.info({ ...fields, detail: outcome.reason }, 'handler ended after abort')
      else
        failures.write(() => logger.warn({ ...fields, detail: outcome.reason }, 'handler failed'))
    },
    // Nested, because a handler's `level` or `msg` would replace that of the line.
    logged: (task, level, message, fields) => {
      logger[level]({ ...task, fields }, message)
    },
    reportedLate: (task) => logger.info(task, 'reported after the deadline'),
    committed: (task, { state }) => logger.debug({ ...task, state }, 'committed'),
    cancelled: (task, { reason, supersededBy }) => {
      logger.warn(
        { ...task, reason, supersededBy },
        'cancelled: the report came too late; the result is dropped',
      )
    },
    rejected: (task, { reason, message }, what) => {
      logger.error(
        { ...task, reason, detail: message },
        `rejected: the coordinator does not accept the ${what}`,
      )
    },
    unreported: (task, reason) => logger.warn({ ...task, reason }, 'not reported'),
    hostCrashed: (reason) =>
      logger.warn({ detail: reason }, 'an idle handler thread or process ended'),
  }
}

/** A missing coordinator, a standby, and permanent and temporary rejections have different remedies. */
function describeFailure({ error, retryInMs }: FailedAttempt): ['info' | 'warn' | 'error', string] {
  if (error.code === 'CLIENT_OTHER_LOG') return ['error', 'another scheduler answered']
  if (!(error instanceof RejectedError)) return ['warn', 'cannot reach a coordinator; retrying']
  if (error.reason === 'NOT_ACTIVE') return ['info', 'the coordinator is a standby; retrying']
  if (retryInMs === undefined) return ['error', 'the coordinator rejects this worker']
  return ['warn', 'the coordinator accepts no connections now; retrying']
}
