/**
 * Every word with which a coordinator refuses, and what it means. A word stays what it is; new ones
 * may come, and one that is not known is to be treated like `INTERNAL`.
 */
export const reasons = {
  MALFORMED: 'A field of the request is missing, of another kind, or over its limit.',
  FORBIDDEN: 'The role of this connection does not allow the request.',
  UNKNOWN_TASK: 'The task never existed, or was forgotten after its retention.',
  UNKNOWN_LEASE:
    'The lease was never granted for that task, or is older than its last 32 attempts.',
  WRONG_WORKER: 'The lease belongs to another worker.',
  DUPLICATE_REPORT: 'Another report under this lease was committed before.',
  REPORTED: 'The lease has ended with a report that was committed.',
  EXPIRED: 'The lease has expired; time revoked it.',
  SUPERSEDED: 'The lease has expired, and another one was granted since.',
  TASK_TERMINAL: 'The task has ended.',
  CONFLICT: 'The request_id belongs to another submission, with a different payload or options.',
  TOO_LARGE: 'The payload or the result is larger than the coordinator takes.',
  OVERLOADED: 'There is too much waiting already; come back later.',
  NO_SPACE: 'The disk of the coordinator is full; come back later.',
  STOPPING: 'The coordinator is stopping.',
  INTERNAL: 'The coordinator failed in a way that it does not explain.',
  UNAUTHORIZED: 'The token is wrong or missing.',
  UNSUPPORTED_VERSION: 'The coordinator does not speak this version of the protocol.',
  TOO_MANY: 'There are too many connections, or too many lease requests that wait.',
  PROTOCOL: 'What was sent cannot be understood; the connection is closed.',
} as const

export type Reason = keyof typeof reasons

/** What passes by itself: nothing was decided, and the same request may be sent again. */
export const passingReasons: readonly Reason[] = ['OVERLOADED', 'NO_SPACE', 'STOPPING', 'TOO_MANY']
