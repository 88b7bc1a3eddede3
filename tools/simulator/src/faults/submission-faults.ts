import { editOf, type Fault } from './fault.js'

const test = 'packages/coordinator-server/test/coordinator.test.ts'
const same = 'a repeated request_id returns the same task, or CONFLICT if payload or options differ'
const limits = 'limits of a submission'
const options = 'a task has the options of its submission, and the knobs for the others'

const manager = editOf('coordinator-server', 'decide/task-manager')
const sameness = editOf('state-machine', 'state/submission')
const loop = editOf('coordinator-server', 'core/coordinator')

/** Wrong answers to submissions: semantics §9. */
export const submissionFaults: readonly Fault[] = [
  {
    name: 'a different submission returns the same task',
    test: [test, same],
    edits: manager('if (isSameSubmission(state, known, request))', 'if (true)'),
  },
  {
    name: 'a repeated submission is a conflict',
    test: [test, same],
    edits: manager('if (isSameSubmission(state, known, request))', 'if (false)'),
  },
  {
    name: 'a known submission is answered as new',
    test: [test, same],
    edits: manager('taskId: known, known: true', 'taskId: known, known: false'),
  },
  {
    name: 'two submissions under one request_id do not wait for each other',
    test: [test, same],
    edits: loop('requestId === undefined ? {} : { requestId })', '{})'),
  },
  {
    name: 'a request_id is not recorded',
    test: [test, same],
    edits: manager('record.requestId = requestId;', ';'),
  },
  {
    name: 'another payload counts as the same submission',
    test: [test, same],
    edits: sameness('isSamePayload(state, row, submission.payload)', 'true'),
  },
  {
    name: 'another queue counts as the same submission',
    test: [test, same],
    edits: sameness('queues.text(tasks.queue.get(row)) === queue', 'true'),
  },
  {
    name: 'a payload of exactly the limit is too large',
    test: [test, limits],
    edits: manager(
      'if (payload.length > knobs.payloadBytesMax)',
      'if (payload.length >= knobs.payloadBytesMax)',
    ),
  },
  {
    name: 'a payload of any size is accepted',
    test: [test, limits],
    edits: manager('if (payload.length > knobs.payloadBytesMax)', 'if (false)'),
  },
  {
    name: 'one waiting task too many is accepted',
    test: [test, limits],
    edits: manager('if (waiting >= waitingTasksMax)', 'if (waiting > waitingTasksMax)'),
  },
  {
    name: 'the last byte of the memory limit cannot be used',
    test: [test, limits],
    edits: manager(
      'if (bytes + payloadBytes <= tasksBytesMax)',
      'if (bytes + payloadBytes < tasksBytesMax)',
    ),
  },
  {
    name: 'a temporary rejection lacks the time after which to retry',
    test: [test, limits],
    edits: manager(
      "rejectedForNow(id, 'OVERLOADED', overloadedRetryMs, overload)",
      "rejected(id, 'OVERLOADED', overload)",
    ),
  },
  {
    name: 'a queue counts as no memory',
    test: [test, 'each queue counts towards the memory limit'],
    edits: manager('const queueBytes = 512;', 'const queueBytes = 0;'),
  },
  {
    name: 'a submission with its own execution window gets the default',
    test: [test, options],
    edits: manager(
      'request.executionWindowMs ?? knobs.executionWindowMs',
      'knobs.executionWindowMs',
    ),
  },
  {
    name: 'a submission with its own retry policy gets the default',
    test: [test, options],
    edits: manager('request.retryPolicy ?? knobs.retryPolicy', 'knobs.retryPolicy'),
  },
  {
    name: 'a queue is not recorded',
    test: [test, options],
    edits: manager('record.queue = queue;', ';'),
  },
  {
    name: 'a delay is treated as a time',
    test: [test, options],
    edits: sameness('createdAt + delayMs', 'delayMs'),
  },
  {
    name: 'not_before is not recorded',
    test: [test, options],
    edits: manager('record.notBefore = notBefore;', ';'),
  },
  {
    name: 'a delay of 0 is recorded as a time',
    test: [test, 'a delay of 0 records no not_before'],
    edits: sameness('delayMs === 0 ?', 'false ?'),
  },
  {
    name: 'omitted retries are compared with the defaults',
    test: [test, 'semantics §9: the options that make a repeated request_id a CONFLICT'],
    edits: sameness('(retryPolicy === undefined ||', '(false ||'),
  },
  {
    name: 'an omitted execution window makes another submission',
    test: [test, 'semantics §9: the options that make a repeated request_id a CONFLICT'],
    edits: sameness('(executionWindowMs === undefined ||', '(false ||'),
  },
]
