import type { RetryPolicy } from '@tenure/options'
import {
  getTask,
  type LogRecord,
  listTasks,
  type RecordOf,
  type State,
  type Task,
} from '@tenure/state-machine'
import { character } from '@tenure/testing'
import fc from 'fast-check'
import { attemptsKept } from '../src/task.js'
import { cut } from './any-record.js'
import { allTasks } from './world.js'

/**
 * Random histories. A step says what to try, and on which of the existing tasks. `recordOf` makes a
 * legal record for it in the given state if possible, and breaks it if the step has a twist. So
 * every rule is often kept and often broken.
 */
export interface Step {
  readonly kind: (typeof kinds)[number]
  readonly twist: (typeof twists)[number]
  readonly pick: number
  readonly choice: number
  readonly afterMs: number
  readonly text: string
}

const kinds = [
  ...[
    'create',
    'create',
    'create',
    'create',
    'create',
    'grant',
    'grant',
    'grant',
    'grant',
    'grant',
  ],
  ...[
    'grant',
    'grant',
    'grant',
    'extend',
    'extend',
    'extend',
    'expire',
    'expire',
    'expire',
    'expire',
  ],
  ...['complete', 'complete', 'fail', 'fail', 'fail', 'cancel', 'cancel', 'kill', 'forget', 'gap'],
] as const

const twists = [
  ...['none', 'none', 'none', 'none', 'none', 'none', 'none', 'none', 'none', 'none'],
  ...['none', 'none', 'none', 'none', 'none', 'none', 'none', 'none', 'none', 'none'],
  ...['lsn', 'at', 'task', 'any task', 'any task', 'any task', 'lease', 'attempt', 'low', 'high'],
] as const

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  twist: fc.constantFrom(...twists),
  pick: fc.nat(1000),
  choice: fc.nat(1000),
  afterMs: fc.constantFrom(0, 0, 0, 1, 1, 7, 100, 2000),
  text: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c', 'é', '') },
    { weight: 1, arbitrary: fc.string({ unit: character, maxLength: 200 }) },
    { weight: 1, arbitrary: fc.nat(199).map((length) => `\ufeff${'a'.repeat(length)}`) },
  ),
})

export const histories: fc.Arbitrary<Step[]> = fc.array(step, {
  minLength: 1,
  maxLength: 90,
  size: 'max',
})

/** The start of a history. Some starts have numbers so large that they need more bytes or bits. */
export const starts: fc.Arbitrary<Position> = fc.record({
  lsn: fc.constantFrom(0, 0, 0, 2 ** 32 - 20, 2 ** 40, 2 ** 53 - 1_000_000),
  at: fc.constantFrom(1000, 1000, 1000, 2 ** 32 - 50, 2 ** 40 + 7, 1_800_000_000_123),
})

/** The change that a step tries: a record with its LSN, or a gap before the next record. */
export type Attempted =
  | { readonly lsn: number; readonly record: LogRecord }
  | { readonly skipTo: number }

export function attemptedBy(step: Step, state: State, last: Position): Attempted {
  const lsn = last.lsn + 1
  if (step.kind === 'gap') return { skipTo: lsn + (step.choice % 3 === 0 ? 5000 : step.choice % 5) }
  const task = pickTask(step, state)
  // If no task suits the step, a new task is more useful than another rejection.
  const kind = task === undefined && step.pick % 8 > 0 ? 'create' : step.kind
  const record = legalRecord({ ...step, kind }, task, lsn, last.at + step.afterMs)
  return bend(step, lsn, record, state)
}

export interface Position {
  readonly lsn: number
  readonly at: number
}

/** The states in which each kind of step expects its task, without a twist. */
const statesFor: { readonly [kind: string]: readonly string[] } = {
  grant: ['WAITING'],
  extend: ['LEASED'],
  expire: ['LEASED'],
  complete: ['LEASED'],
  fail: ['LEASED'],
  kill: ['WAITING', 'LEASED'],
}

function pickTask(step: Step, state: State): Task | undefined {
  const states = step.twist === 'any task' ? undefined : statesFor[step.kind]
  const tasks = [...listTasks(state)]
  const candidates =
    states === undefined ? tasks : tasks.filter((task) => states.includes(task.state))
  const picked = candidates[step.pick % Math.max(1, candidates.length)]
  return picked && getTask(state, picked.taskId)
}

type Writable<T> = { -readonly [Field in keyof T]: T[Field] }

function reportIdOf({ choice, text }: Step): string {
  return `${choice % 4 === 0 ? cut(text, 100) : ''}r${choice}`
}

function legalRecord(step: Step, task: Task | undefined, lsn: number, now: number): LogRecord {
  const { choice, text, kind } = step
  const taskId = task?.taskId ?? 1
  const leaseId = task?.currentLeaseId ?? 2
  const attempt = task?.attempts.at(-1)
  const expiry = attempt?.leaseExpiry ?? now
  const windowEnd = (attempt?.grantedAt ?? now) + (task?.executionWindowMs ?? 0)
  // Reports and extensions come before the expiry, mostly at the last moment.
  const inTime = choice % 4 === 0 ? now : Math.min(now, Math.max(now - step.afterMs, expiry - 1))
  switch (kind) {
    case 'create': {
      const created: Writable<RecordOf<'TaskCreated'>> = {
        type: 'TaskCreated',
        at: now,
        taskId: lsn,
        payload: Buffer.from(text.repeat(choice % 9)),
        executionWindowMs: [1, 300, 20_000, 1_000_000][choice % 4]!,
        retryPolicy: retryPolicies[choice % retryPolicies.length]!,
      }
      if (choice % 3 === 0) created.queue = ['q', 'r', 'default'][choice % 7] ?? 'ünï'
      if (choice % 5 === 0) created.notBefore = Math.max(0, now + (choice % 40) * 10 - 100)
      if (choice % 2 === 0) created.requestId = cut(text, 120) + (choice % 20)
      return created
    }
    case 'grant': {
      const at = Math.max(now, task?.eligibleAt ?? 0)
      const leaseExpiry =
        at + Math.min(task?.executionWindowMs ?? 1, [1, 200, 10_000, 3_000_000][choice % 4]!)
      const workerId = `${choice % 7 === 0 ? cut(text, 100) : ''}w${choice % 5}`
      return {
        type: 'LeaseGranted',
        at,
        taskId,
        leaseId: lsn,
        workerId,
        attempt: (task?.attempt ?? 0) + 1,
        leaseExpiry,
      }
    }
    case 'extend':
      return {
        type: 'LeaseExtended',
        at: inTime,
        leaseId,
        newLeaseExpiry: Math.min(windowEnd, expiry + 1 + (choice % 500)),
      }
    case 'expire':
      return {
        type: 'LeaseExpired',
        at: Math.max(now, expiry),
        taskId,
        leaseId,
        atStart: choice % 3 === 0,
      }
    case 'complete': {
      const completed: Writable<RecordOf<'TaskCompleted'>> = {
        type: 'TaskCompleted',
        at: inTime,
        taskId,
        leaseId,
      }
      if (choice % 2 === 0) completed.reportId = reportIdOf(step)
      if (choice % 3 === 0) completed.result = Buffer.from(text)
      return completed
    }
    case 'fail': {
      const failed: Writable<RecordOf<'TaskFailed'>> = {
        type: 'TaskFailed',
        at: inTime,
        taskId,
        leaseId,
        failureReason: text,
      }
      if (choice % 2 === 0) failed.reportId = reportIdOf(step)
      return failed
    }
    case 'cancel': {
      const lost =
        task?.attempts.filter(({ outcome }) => outcome === 'EXPIRED' || outcome === 'DEAD') ?? []
      return {
        type: 'TaskCancelled',
        at: now,
        taskId,
        leaseId: lost[choice % Math.max(1, lost.length)]?.leaseId ?? leaseId,
      }
    }
    case 'kill':
      return { type: 'TaskDead', at: now, taskId, reason: text }
    default:
      return { type: 'TasksForgotten', at: now, through: Math.max(1, lsn - 1 - (choice % 30)) }
  }
}

const retryPolicies: readonly RetryPolicy[] = [
  { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } },
  { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 20 } },
  { maxRetries: 3, backoff: { kind: 'exponential', initialMs: 5, maxMs: 15 } },
  { maxRetries: attemptsKept * 2, backoff: { kind: 'exponential', initialMs: 0, maxMs: 10 } },
]

function bend(step: Step, lsn: number, record: LogRecord, state: State): Attempted {
  const { choice, pick } = step
  const sign = choice % 2 === 0 ? 1 : -1
  const bent = record as unknown as { [field: string]: unknown }
  const change = (field: string, by: number) => {
    if (typeof bent[field] === 'number') bent[field] = Math.max(1, bent[field] + by)
  }
  switch (step.twist) {
    case 'lsn':
      return { lsn: Math.max(1, lsn + sign), record }
    case 'at':
      change('at', -1 - (choice % 3))
      break
    case 'task':
      change('taskId', sign)
      break
    case 'lease': {
      const leases = allTasks(state).flatMap(({ attempts }) => attempts.map((it) => it.leaseId))
      if ('leaseId' in bent) bent.leaseId = leases[pick % Math.max(1, leases.length)] ?? lsn + 1
      break
    }
    case 'attempt':
      change('attempt', sign)
      break
    case 'low':
      for (const field of ['leaseExpiry', 'newLeaseExpiry']) change(field, -1_000_000)
      break
    case 'high':
      for (const field of ['leaseExpiry', 'newLeaseExpiry'])
        change(field, choice % 4 === 0 ? 1 : 5_000_000)
      change('through', 100)
      break
    default:
  }
  return { lsn, record: bent as unknown as LogRecord }
}
