/**
 * Every reason for a rejection, with its meaning. Meanings never change. New reasons may be added; treat an
 * unknown one like `INTERNAL`.
 */
export const reasons = {
  MALFORMED: 'A field of the request is missing, has the wrong type, or exceeds its limit.',
  FORBIDDEN: 'The role of this connection does not allow the request.',
  UNKNOWN_TASK: 'The task never existed, or was forgotten after its retention.',
  UNKNOWN_LEASE:
    'The lease was never granted for that task, or is older than its last 32 attempts.',
  WRONG_WORKER: 'The lease belongs to another worker.',
  DUPLICATE_REPORT: 'Another report under this lease was committed before.',
  REPORTED: 'The lease has ended with a committed report.',
  EXPIRED: 'The lease has expired.',
  SUPERSEDED: 'The lease has expired, and another lease was granted since.',
  TASK_TERMINAL: 'The task has ended.',
  CONFLICT: 'The request_id belongs to another submission, with a different payload or options.',
  TOO_LARGE: 'The payload or the result is larger than the coordinator accepts.',
  OVERLOADED: 'The coordinator is overloaded; retry later.',
  NO_SPACE: 'The disk of the coordinator is full; retry later.',
  STOPPING: 'The coordinator is stopping.',
  NOT_ACTIVE: 'This coordinator is a standby or has stepped down; ask the active one.',
  INTERNAL: 'The coordinator could not serve the request because of an internal error.',
  UNAUTHORIZED: 'The token is wrong or missing.',
  UNSUPPORTED_VERSION: 'The coordinator does not speak this version of the protocol.',
  TOO_MANY: 'There are too many connections or too many waiting lease requests.',
  PROTOCOL: 'The message is not valid in this protocol; the connection is closed.',
} as const

export type Reason = keyof typeof reasons

/** Reasons after which the same request may be sent again: nothing was decided, and the condition passes. */
export const transientReasons: readonly Reason[] = [
  'OVERLOADED',
  'NO_SPACE',
  'STOPPING',
  'NOT_ACTIVE',
  'TOO_MANY',
]
