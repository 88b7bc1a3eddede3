import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { RejectedError, type Submission, type Tenure } from '@tenure/client'
import type { Options } from '../options.js'
import type { Acknowledged } from './acknowledged.js'
import { toSubmission } from './work.js'

/** The last is submitted before the faults end: all of them have their share of bad days. */
const shareOfTime = 0.9

/** How many wait for their answer at once. */
const window = 256

/** No fault lasts so long: who is not acknowledged by then never will be. */
const patienceMs = 120_000

const retryAfterMsDefault = 1000

/** With so many that nobody has come to, none is added: on a slow machine they would become ever more. */
const waitingMax = 10_000
const askEveryMs = 500

/** Where what happens to submissions is kept. */
export interface SubmissionBook {
  readonly acknowledged: Acknowledged
  /** It was refused for this reason, and will be tried again. */
  noteRefusal(reason: string): void
}

/**
 * Submits tasks evenly over the time of the faults, each until it is acknowledged; not all of them
 * where the time is too short for that.
 */
export async function submitAll(
  tenure: Tenure,
  options: Options,
  book: SubmissionBook,
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController()
  const ending = AbortSignal.any([signal, ended.signal])
  // All submissions that are on their way hear it.
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
    // What goes wrong with one ends the others.
    ended.abort()
    await Promise.allSettled([watching, ...turns])
  }
}

/** How many tasks wait, as the coordinator said last. */
class Backlog {
  #waiting = 0

  get isTooLong(): boolean {
    return this.#waiting > waitingMax
  }

  /** Until the signal says that it is enough. */
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

/** A refusal that passes is waited out here, where it can be seen. */
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

/** For several who take from it in turn: one who leaves does not end it for the others. */
async function* shared<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  for (;;) {
    const { done, value } = await source.next()
    if (done) return
    yield value
  }
}
