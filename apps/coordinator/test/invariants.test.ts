// Runs alone: its tests share the log of one run.
import type { Answer, Leased } from '@tenure/protocol'
import {
  checkInvariants,
  getLease,
  getTask,
  type LogRecord,
  type State,
  type Task,
  type TaskSummary,
} from '@tenure/state-machine'
import t from 'tap'
import { Faults, runLoad } from './load.js'
import { type Entry, readLog, replay } from './log-book.js'
import type { Exchange } from './transcript.js'

// The five invariants of 000 §7, checked in the answers to clients and in the log, after two
// SIGKILLs under workers that crash, stall, repeat themselves and report under other leases.

const seed = Number(process.env.TENURE_SEED ?? 1)
const { dataDir, transcript } = await runLoad(t, seed, 3)
const entries: Entry[] = []
for await (const entry of readLog(dataDir)) entries.push(entry)

type Grant = Exchange & { readonly answer: Leased }
const grants: Grant[] = transcript.answeredBy('leased')
const leaseIdOf = ({ answer }: Grant) => answer.leaseId
const grantedAt = ({ answer }: Grant) => answer.leaseExpiry - answer.leaseMs

/** A fact from an answer about a task, with the times of the request and the answer. */
interface View<T> {
  readonly asked: number
  readonly answered: number
  readonly task: T
}

const whole: View<Task>[] = transcript.answeredBy('task').map(({ asked, answered, answer }) => {
  return { asked, answered, task: answer.task as unknown as Task }
})
const views: View<TaskSummary>[] = [
  ...whole,
  ...transcript.answeredBy('tasks').flatMap(({ asked, answered, answer }) => {
    return answer.tasks.map((task) => ({ asked, answered, task: task as unknown as TaskSummary }))
  }),
]

t.test('the load has exercised every case', async (t) => {
  const happened = new Set<string>(entries.map(({ record }) => record.type))
  for (const { answer } of transcript.answeredBy('cancelled')) happened.add(answer.reason)
  for (const { answer } of transcript.answeredBy('rejected')) happened.add(answer.reason)
  for (const { answer } of transcript.answeredBy('submitted')) {
    if (answer.known) happened.add('submitted again')
  }
  for (const what of [
    ...['TaskCreated', 'LeaseGranted', 'LeaseExtended', 'LeaseExpired', 'TaskCompleted'],
    ...['TaskFailed', 'TaskCancelled', 'TaskDead', 'SUPERSEDED', 'TASK_TERMINAL'],
    ...['DUPLICATE_REPORT', 'UNKNOWN_LEASE', 'submitted again'],
  ]) {
    t.ok(happened.has(what), what)
  }
  t.ok(transcript.lost.length >= 12, 'every SIGKILL hit requests in flight')
  t.comment(`seed ${seed}: ${transcript.size} answers, ${entries.length} records`)
})

t.test('a task has at most one active lease', async (t) => {
  const faults = new Faults()
  const unsure = new Set(
    transcript
      .of('fail')
      .filter(mayHaveReleased)
      .map(({ request }) => request.leaseId),
  )
  const newestOf = new Map<number, Grant>()
  for (const next of grants.toSorted((one, other) => leaseIdOf(one) - leaseIdOf(other))) {
    const last = newestOf.get(next.answer.taskId)
    newestOf.set(next.answer.taskId, next)
    if (last === undefined || unsure.has(leaseIdOf(last))) continue
    const isOver = expiryOf(last) <= grantedAt(next)
    faults.check(isOver, () => `${leaseIdOf(next)} was granted while ${leaseIdOf(last)} was valid`)
  }
  faults.conclude(t, 'no lease is granted before the last one has expired or was reported')

  for (const { asked, answer } of grants) {
    const before = grants.filter(({ answered }) => answered < asked)
    const newest = Math.max(0, ...before.map(leaseIdOf))
    faults.check(answer.leaseId > newest, () => `${answer.leaseId} came after ${newest}`)
  }
  faults.conclude(t, 'lease ids grow, over restarts, too')

  const active = new Map<number, number>()
  for (const { record } of entries) {
    if (record.type === 'LeaseGranted') {
      const { taskId, leaseId } = record
      faults.check(!active.has(taskId), () => `lease ${leaseId} beside ${active.get(taskId)}`)
      active.set(taskId, leaseId)
    } else if (endsLease(record)) active.delete(record.taskId)
  }
  faults.conclude(t, 'in the log a grant follows the end of the last lease')
})

/** A failure report that was accepted, or may have been. */
function mayHaveReleased({ answer }: Exchange): boolean {
  return answer === undefined || answer.kind === 'committed'
}

/** As far as its worker knows. */
function expiryOf({ answer: { leaseId, leaseExpiry } }: Grant): number {
  const beats = transcript.of('heartbeat').filter(({ request }) => request.leaseId === leaseId)
  const extended = beats.map(({ answer }) => (answer?.kind === 'extended' ? answer.leaseExpiry : 0))
  return Math.max(leaseExpiry, ...extended)
}

function endsLease(record: LogRecord): record is Extract<LogRecord, { taskId: number }> {
  return ['LeaseExpired', 'TaskCompleted', 'TaskFailed', 'TaskDead'].includes(record.type)
}

t.test('a lease always refers to exactly one task', async (t) => {
  const faults = new Faults()
  const tasks = new Map<number, number>()
  const note = (leaseId: number, taskId: number) => {
    const known = tasks.get(leaseId) ?? taskId
    faults.check(known === taskId, () => `lease ${leaseId} is of tasks ${known} and ${taskId}`)
    tasks.set(leaseId, taskId)
  }
  for (const { answer } of grants) note(answer.leaseId, answer.taskId)
  for (const { task } of whole) {
    for (const { leaseId } of task.attempts) note(leaseId, task.taskId)
  }
  faults.check(tasks.size >= grants.length, () => 'a lease was granted twice')
  faults.conclude(t, 'in every answer')

  for (const { request, answer } of [...transcript.of('complete'), ...transcript.of('fail')]) {
    if (tasks.get(request.leaseId) === request.taskId || answer === undefined) continue
    const isUnknown = answer.kind === 'rejected' && answer.reason === 'UNKNOWN_LEASE'
    faults.check(isUnknown, () => `under ${request.leaseId}: ${JSON.stringify(answer)}`)
  }
  faults.conclude(t, 'a report under it for another task is refused')

  for (const { lsn, record } of entries) {
    if (!('leaseId' in record) || record.type === 'LeaseExtended') continue
    if (record.type === 'LeaseGranted') faults.check(record.leaseId === lsn, () => `lease ${lsn}`)
    note(record.leaseId, record.taskId)
  }
  faults.conclude(t, 'in every record')
})

t.test('a task in WAITING has no lease', async (t) => {
  const faults = new Faults()
  const waiting = views.filter(({ task }) => task.state === 'WAITING')
  t.ok(waiting.length > 0)
  for (const { task } of waiting) {
    faults.check(task.currentLeaseId === null, () => `task ${task.taskId} is owned`)
  }
  for (const { task } of whole) {
    if (task.state === 'WAITING') faults.check(running(task).length === 0, () => describe(task))
  }
  faults.conclude(t, 'in every answer')

  for (const { after } of replay(entries)) {
    if (after?.state !== 'WAITING') continue
    const isFree = after.currentLeaseId === null && running(after).length === 0
    faults.check(isFree, () => describe(after))
  }
  faults.conclude(t, 'after every record')
})

t.test('a task in LEASED has exactly one valid lease', async (t) => {
  const faults = new Faults()
  const leased = views.filter(({ task }) => task.state === 'LEASED')
  t.ok(leased.length > 0)
  for (const { task } of leased) {
    faults.check(task.currentLeaseId !== null, () => `task ${task.taskId} is not owned`)
  }
  for (const { task } of whole) {
    if (task.state === 'LEASED') faults.check(isOwnedOnce(task), () => describe(task))
  }
  faults.conclude(t, 'in every answer')

  for (const { record, state, before, after } of replay(entries)) {
    if (after?.state === 'LEASED') {
      const lease = getLease(state, after.currentLeaseId!)
      const isOwn = isOwnedOnce(after) && lease?.taskId === after.taskId
      faults.check(isOwn, () => describe(after))
    }
    if (needsValidLease(record)) {
      const owner = record.type === 'LeaseGranted' ? after : before
      const expiry = running(owner!)[0]?.leaseExpiry ?? 0
      faults.check(record.at < expiry, () => `${record.type} at ${record.at} after ${expiry}`)
    }
    if (record.type === 'LeaseExpired') {
      const expiry = running(before!)[0]!.leaseExpiry
      faults.check(record.at >= expiry, () => `expired at ${record.at} before ${expiry}`)
    }
  }
  faults.conclude(t, 'after every record, and by the time of every record that needs one')
})

function needsValidLease({ type }: LogRecord): boolean {
  return ['LeaseGranted', 'LeaseExtended', 'TaskCompleted', 'TaskFailed'].includes(type)
}

function running({ attempts }: Task) {
  return attempts.filter(({ outcome }) => outcome === 'OPEN')
}

/** The newest attempt is the running one, which the task names. */
function isOwnedOnce(task: Task): boolean {
  const [only, ...others] = running(task)
  const newest = task.attempts.at(-1)
  return others.length === 0 && only === newest && only?.leaseId === task.currentLeaseId
}

function describe(task: Task): string {
  return JSON.stringify({ ...task, payload: undefined })
}

t.test('COMPLETED tasks never transition again', async (t) => {
  const faults = new Faults()
  const completed = new Map<number, number>()
  const note = (taskId: number, since: number) => {
    completed.set(taskId, Math.min(since, completed.get(taskId) ?? since))
  }
  for (const { answered, answer, request } of transcript.answeredBy('committed')) {
    if (answer.state === 'COMPLETED') note((request as { taskId: number }).taskId, answered)
  }
  for (const { answered, task } of views)
    if (task.state === 'COMPLETED') note(task.taskId, answered)
  t.ok(completed.size > 50)
  const isCompleted = (taskId: number, asked: number) => asked > (completed.get(taskId) ?? asked)

  for (const { asked, task } of views) {
    if (!isCompleted(task.taskId, asked)) continue
    faults.check(task.state === 'COMPLETED', () => `task ${task.taskId} became ${task.state}`)
  }
  for (const { asked, answer } of grants) {
    faults.check(!isCompleted(answer.taskId, asked), () => `task ${answer.taskId} was leased`)
  }
  for (const { asked, request, answer } of transcript.of('kill')) {
    if (answer === undefined || !isCompleted(request.taskId, asked)) continue
    faults.check(isTerminal(answer), () => `task ${request.taskId}: ${answer.kind}`)
  }
  faults.conclude(t, 'in every answer')

  const ended = new Set<number>()
  for (const { record, before, after } of replay(entries)) {
    if (before !== undefined && ended.has(before.taskId)) {
      const stays = record.type === 'TaskCancelled' && after?.state === 'COMPLETED'
      faults.check(stays, () => `${record.type} for ${describe(before)}`)
    }
    if (record.type === 'TaskCompleted') ended.add(record.taskId)
  }
  faults.conclude(t, 'after every record')
})

function isTerminal(answer: Answer): boolean {
  return answer.kind === 'rejected' && answer.reason === 'TASK_TERMINAL'
}

t.test(
  'every record satisfies all invariants, and the last state matches the answers',
  async (t) => {
    let last: State | undefined
    for (const { state } of replay(entries)) {
      checkInvariants(state)
      last = state
    }
    const ended = whole.filter(({ task }) => !['WAITING', 'LEASED'].includes(task.state))
    for (const { task } of ended) {
      const { state, attempt } = getTask(last!, task.taskId)!
      if (state !== task.state || attempt !== task.attempt) t.fail(describe(task))
    }
    t.ok(ended.length > 50)
  },
)
