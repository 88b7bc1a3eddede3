import type { Bug } from './bug.js'

const server = 'packages/coordinator-server/dist/src'
const state = 'packages/state-machine/dist/src'

const reportsLate = {
  file: `${state}/apply/apply-report.js`,
  old: 'if (record.at >= expiry) {',
  new: 'if (false) {',
}

/** Mistakes in decisions, and in the answers about them. */
export const decisionBugs: readonly Bug[] = [
  {
    name: 'accept a stale lease',
    what: 'a report under an expired lease is accepted while no other worker has the task',
    edits: [
      {
        file: `${server}/decide/lease-judgement.js`,
        old: "now < standing.leaseExpiry ? { kind: 'valid', standing } : { kind: 'past expiry' }",
        new: "id !== undefined ? { kind: 'valid', standing } : { kind: 'past expiry' }",
      },
      reportsLate,
    ],
    foundBy: [
      { check: 'no unexpected error occurs', message: /^ProtocolError .*: lease is -\d+;/ },
      { check: 'the log is legal' },
    ],
    seedsMax: 400,
  },
  {
    name: 'a heartbeat resurrects an expired lease',
    what: 'an expired lease is extended if its LeaseExpired is not written yet',
    edits: [
      {
        file: `${server}/decide/lease-manager.js`,
        old: "return { kind: 'expire first' };",
        new: "{ const at = now; const { leaseExpiry } = getLease(context.state, leaseId); const newLeaseExpiry = Math.max(leaseExpiry + 1, now + knobs.leaseDurationMs); return { kind: 'record', record: { type: 'LeaseExtended', at, leaseId, newLeaseExpiry }, answer: () => ({ kind: 'extended', id, ...terms(newLeaseExpiry, newLeaseExpiry, now, asker) }) }; }",
      },
      {
        file: `${state}/apply/apply-lease.js`,
        old: 'if (at >= expiry) {',
        new: 'if (false) {',
      },
    ],
    foundBy: [
      {
        check: 'every failure follows from a planned fault',
        message: /LeaseExtended at LSN \d+: new expiry must be within the execution window/,
      },
      { check: 'the log is legal' },
    ],
    seedsMax: 1000,
  },
  {
    name: 'expire by the wall clock',
    what: 'decisions use the wall clock, which can be set',
    edits: [
      {
        file: `${server}/decide/decision-time.js`,
        old: 'return this.#anchorMs + Math.floor(monotonicMs - this.#anchoredAtMs);',
        new: 'this.#anchorMs = Math.max(this.#anchorMs, this.#clock.now()); return this.#anchorMs;',
      },
    ],
    foundBy: [{ check: 'a task has one owner' }],
    seedsMax: 400,
  },
  {
    name: 'apply before append',
    what: 'a decision takes effect before it is in the log',
    edits: [
      {
        file: `${server}/core/commits.js`,
        old: '            this.#inFlight.push({ lsn, bytes, taskId, requestId, reply });\n',
        new: '            this.#inFlight.push({ lsn, bytes, taskId, requestId, reply });\n            apply(this.#state, lsn, decodeRecord(bytes));\n',
      },
      {
        file: `${server}/core/commits.js`,
        old: '        apply(this.#state, lsn, record);\n        let freed',
        new: '        let freed',
      },
    ],
    foundBy: [{ check: 'every applied record is reported' }],
    seedsMax: 50,
  },
  {
    name: 'answer before the record is durable',
    what: 'a request is answered when its record has been handed to the log',
    edits: [
      {
        file: `${server}/core/commits.js`,
        old: '            this.#inFlight.push({ lsn, bytes, taskId, requestId, reply });\n',
        new: "            const isGrant = record.type === 'TaskCreated'; this.#inFlight.push({ lsn, bytes, taskId, requestId, reply: isGrant ? undefined : reply });\n            if (isGrant) reply?.to.answer(reply.answer(this.#state));\n",
      },
    ],
    foundBy: [{ check: 'every answer matches the log' }],
    seedsMax: 400,
  },
  {
    name: 'decide twice about one submission',
    what: 'a request_id whose record is in flight is not locked',
    edits: [
      {
        file: `${server}/core/coordinator.js`,
        old: 'requestId === undefined ? {} : { requestId })',
        new: '{})',
      },
    ],
    foundBy: [
      {
        check: 'every failure follows from a planned fault',
        message: /TaskCreated at LSN \d+: request_id must not belong to another task/,
      },
      { check: 'the log is legal' },
    ],
    seedsMax: 1000,
  },
  {
    name: 'decide about a task in flight',
    what: 'a request about a task does not wait for the decision in flight',
    edits: [
      {
        file: `${server}/core/coordinator.js`,
        old: '        if (tasks.isLocked(taskId)) {',
        new: '        if (false) {',
      },
    ],
    foundBy: [{ check: 'no unexpected error occurs', message: /^Error: \d+ is locked already/ }],
    seedsMax: 1000,
  },
  {
    name: 'answer EXPIRED without a record',
    what: 'a heartbeat past the expiry is rejected before the LeaseExpired is written',
    edits: [
      {
        file: `${server}/decide/lease-manager.js`,
        old: "return { kind: 'expire first' };",
        new: "return answer(rejected(id, 'EXPIRED'));",
      },
    ],
    foundBy: [{ check: 'every answer matches the log', message: /"reason":"EXPIRED"/ }],
    seedsMax: 1000,
  },
  {
    name: 'forget earlier reports',
    what: 'a repeated report counts as a second report',
    edits: [
      {
        file: `${server}/decide/task-manager.js`,
        old: 'if (isSameReport(state, request, standing))',
        new: 'if (false)',
      },
    ],
    foundBy: [
      { check: 'every answer matches the log', message: /"reason":"DUPLICATE_REPORT"/ },
      {
        check: 'the coordinator accepts the shipped worker',
        message: /: DUPLICATE_REPORT$/,
      },
    ],
    seedsMax: 400,
  },
  {
    name: 'treat any result as the same report',
    what: 'a repeated report with another result is COMMITTED, and the first result is kept',
    edits: [
      {
        file: `${server}/decide/task-manager.js`,
        old: 'isSameResult(request.result, viewResult(state, request.taskId))',
        new: 'true',
      },
    ],
    foundBy: [
      {
        check: 'every answer matches the log',
        message: /"kind":"committed","id":\d+,"state":"COMPLETED"/,
      },
    ],
    seedsMax: 1000,
  },
  {
    name: 'accept any worker as the owner',
    what: 'a report under the lease of another worker is accepted',
    edits: [
      {
        file: `${server}/decide/lease-judgement.js`,
        old: 'if (standing.workerId !== caller.name) {',
        new: 'if (false) {',
      },
    ],
    foundBy: [{ check: 'a result is what its handler returned' }],
    seedsMax: 200,
  },
  {
    name: 'retry immediately',
    what: 'a failed task does not wait for its backoff',
    edits: [
      {
        file: `${state}/apply/apply-report.js`,
        old: 'at + backoffMs(tasks, row, failures)',
        new: 'at',
      },
    ],
    foundBy: [{ check: 'the log is legal', message: /: task must be eligible$/ }],
    seedsMax: 100,
  },
  {
    name: 'lease the newest first',
    what: 'of tasks that became eligible together, the last one is leased first',
    edits: [
      {
        file: `${state}/store/task-rows.js`,
        old: 'tasks.taskId.get(a) < tasks.taskId.get(b)',
        new: 'tasks.taskId.get(a) > tasks.taskId.get(b)',
      },
    ],
    foundBy: [
      {
        check: 'nothing is answered before it is durable',
        message: /STATE_BROKEN.*: the line of \w+ tasks is out of order/,
      },
      { check: 'tasks are leased in order' },
      { check: 'the naive model has the same state' },
    ],
    seedsMax: 1000,
  },
]
