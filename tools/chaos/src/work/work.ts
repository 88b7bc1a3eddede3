import type { Submission } from '@tenure/client'
import { Random } from '@tenure/testing'

/** The payload of a task, which tells the handler what to do. */
export interface Work {
  /** Number of the submission, from 0. */
  readonly number: number
  readonly kind: WorkKind
  readonly waitMs: number
  /** Has no meaning: payloads of many sizes fill segments in many ways. */
  readonly padding: string
}

const workKinds = [
  'quick',
  'long',
  'failing once',
  'failing',
  'ending its host once',
  'overrunning',
] as const
export type WorkKind = (typeof workKinds)[number]

interface Kind {
  /** Tasks of this kind among 1000. */
  readonly share: number
  readonly queue: Queue
  readonly waitMs: readonly [least: number, most: number]
  readonly executionWindowMs: number
  readonly maxRetries: number
  /** Allowed terminal states. */
  readonly ends: readonly ('COMPLETED' | 'FAILED' | 'DEAD')[]
}

/** Workers with inline handlers take only `short` tasks, which do nothing but wait. */
export type Queue = 'short' | 'long'

const minute = 60_000
const hour = 60 * minute

export const kinds: { readonly [K in WorkKind]: Kind } = {
  quick: {
    share: 920,
    queue: 'short',
    waitMs: [1, 25],
    executionWindowMs: hour,
    maxRetries: 3,
    ends: ['COMPLETED'],
  },
  // Lasts longer than a lease without a heartbeat.
  long: {
    share: 10,
    queue: 'long',
    waitMs: [1000, 4000],
    executionWindowMs: hour,
    maxRetries: 3,
    ends: ['COMPLETED'],
  },
  'failing once': {
    share: 40,
    queue: 'short',
    waitMs: [1, 25],
    executionWindowMs: hour,
    maxRetries: 3,
    ends: ['COMPLETED'],
  },
  failing: {
    share: 20,
    queue: 'short',
    waitMs: [1, 25],
    executionWindowMs: hour,
    maxRetries: 2,
    ends: ['FAILED'],
  },
  'ending its host once': {
    share: 8,
    queue: 'long',
    waitMs: [1, 50],
    executionWindowMs: hour,
    maxRetries: 3,
    ends: ['COMPLETED'],
  },
  // The execution window ends it. If its worker does not report that in time, the lease expires; a
  // task whose leases only expire is stopped as poison.
  overrunning: {
    share: 2,
    queue: 'long',
    waitMs: [minute, minute],
    executionWindowMs: 2000,
    maxRetries: 1,
    ends: ['FAILED', 'DEAD'],
  },
}

/** Determines all tasks of a run. */
export interface WorkPlan {
  readonly seed: number
  readonly paddingBytesMax: number
}

function workOf({ seed, paddingBytesMax }: WorkPlan, number: number): Work {
  const random = new Random(seed * 2 ** 20 + number)
  let left = random.integer(1000)
  const kind = workKinds.find((name) => {
    left -= kinds[name].share
    return left < 0
  })!
  const [least, most] = kinds[kind].waitMs
  const waitMs = least + random.integer(most - least + 1)
  return { number, kind, waitMs, padding: 'x'.repeat(random.integer(paddingBytesMax + 1)) }
}

export function toSubmission(plan: WorkPlan, number: number): Submission {
  const work = workOf(plan, number)
  const { queue, executionWindowMs, maxRetries } = kinds[work.kind]
  return {
    payload: Buffer.from(JSON.stringify(work)),
    requestId: requestIdOf(number),
    queue,
    executionWindowMs,
    retryPolicy: { maxRetries, backoff: { kind: 'fixed', delayMs: 100 } },
  }
}

export function requestIdOf(number: number): string {
  return `chaos-${number}`
}

/** `undefined` when no submission has this request id. */
export function numberOf(requestId: string): number | undefined {
  const number = Number(requestId.slice(requestIdOf(0).length - 1))
  return requestIdOf(number) === requestId ? number : undefined
}

export function readWork(payload: Uint8Array): Work {
  return JSON.parse(Buffer.from(payload).toString()) as Work
}
