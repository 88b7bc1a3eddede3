import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { RejectedError, type Submission, type Tenure } from '@tenure/client'
import type { Options } from '../options.js'
import type { Acknowledged } from './acknowledged.js'
import { toSubmission } from './work.js'

/** The last task is submitted before the faults end, so that every task lives under faults. */
const shareOfTime = 0.9

/** Number of concurrent submissions. */
const window = 256

/** Every fault is shorter than this; a submission without an answer by then will never get one. */
const patienceMs = 120_000

const retryAfterMsDefault = 1000

/** Submitting pauses above this many waiting tasks; on a slow machine they would only grow. */
const waitingMax = 10_000
const askEveryMs = 500

/** Records the answers to submissions. */
export interface SubmissionBook {
  readonly acknowledged: Acknowledged
  /** The submission was rejected for this reason and will be retried. */
  noteRefusal(reason: string): void
}

/**
 * Submits tasks evenly over the time of the faults, and retries each until it is acknowledged. On a
 * slow machine the time ends before all tasks are submitted.
 */
export async function submitAll(
  tenure: Tenure,
  options: Options,
  book: SubmissionBook,
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController()
  const ending = AbortSignal.any([signal, ended.signal])
  // All submissions in flight listen to this signal.
  setMaxListeners(0, ending)
  const backlog = new Backlog()
  const numbers = paced(options, backlog, ending)
  const submitInTurn = async () => {
    for await (const number of shared(numbers)) {
      const submission = toSubmission(options, number)
      const taskId = await submitPatiently(tenure, submission, book, ending)
      book.acknowledged.add({ number, taskId })
    }
  }
  const watching = backlog.watch(tenure, ending)
  const turns = Array.from({ length: window }, submitInTurn)
  const submitting = Promise.all(turns).then(() => ended.abort())
  try {
    await Promise.all([watching, submitting])
  } finally {
    // A failure of one aborts the others.
    ended.abort()
    await Promise.allSettled([watching, ...turns])
  }
}

/** The number of waiting tasks that the coordinator reported last. */
class Backlog {
  #waiting = 0

  get isTooLong(): boolean {
    return this.#waiting > waitingMax
  }

  /** Polls until the signal fires. */
  async watch(tenure: Tenure, signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const { tasks } = await tenure.stats({ signal, timeoutMs: Number.POSITIVE_INFINITY })
        this.#waiting = tasks.waiting
        await setTimeout(askEveryMs, undefined, { signal })
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

/** Retries temporary rejections here rather than in the client, so that they are counted. */
async function submitPatiently(
  tenure: Tenure,
  { payload, ...task }: Submission,
  book: SubmissionBook,
  signal: AbortSignal,
): Promise<number> {
  const until = performance.now() + patienceMs
  for (;;) {
    try {
      const timeoutMs = Math.max(1, until - performance.now())
      const { taskId } = await tenure.submit(payload, { ...task, signal, timeoutMs })
      return taskId
    } catch (error) {
      if (!(error instanceof RejectedError) || performance.now() > until) throw error
      book.noteRefusal(error.reason)
      const { retryAfterMs = retryAfterMsDefault } = error
      await setTimeout(retryAfterMs, undefined, { signal })
    }
  }
}

async function* paced(
  { tasks, faultMs }: Options,
  backlog: Backlog,
  signal: AbortSignal,
): AsyncGenerator<number> {
  const start = performance.now()
  const intervalMs = (faultMs * shareOfTime) / tasks
  for (let number = 0; number < tasks; number++) {
    const earlyMs = start + number * intervalMs - performance.now()
    if (earlyMs > 0) await setTimeout(earlyMs, undefined, { signal })
    while (backlog.isTooLong) await setTimeout(askEveryMs, undefined, { signal })
    if (performance.now() - start > faultMs) return
    yield number
  }
}

/**
 * Lets several consumers share one generator: a consumer that stops does not end it for the others.
 */
async function* shared<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  for (;;) {
    const { done, value } = await source.next()
    if (done) return
    yield value
  }
}
