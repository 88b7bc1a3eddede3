import { check, finalReasons, RejectedError, TenureError } from '../errors.js'
import { aborted } from '../link/call-errors.js'
import { type CallOptions, checkCallOptions } from '../link/limit.js'
import type { Link } from '../link/link.js'
import { demandWithRetry } from './demand.js'
import { Pipeline } from './pipeline.js'
import { checkSubmission, type NewSubmit, type Submission, toRequest } from './submission.js'

/** The task is durable on the coordinator's disk. */
export interface Submitted {
  readonly taskId: number
  /** The task already existed under this `requestId`. */
  readonly known: boolean
}

/** Submits a task. It is sent again after a lost connection if it has a `requestId`. */
export async function submit(
  link: Link,
  request: NewSubmit,
  { signal, timeoutMs, retryLater }: CallOptions & { readonly retryLater: boolean },
): Promise<Submitted> {
  const retry = request.requestId !== undefined
  const retryOptions = { signal, timeoutMs, retryLater, retry }
  // The first attempt copies the payload when it encodes it. A retry must send the same bytes, even if the
  // caller has reused its buffer.
  const own = retryLater ? { ...request, payload: new Uint8Array(request.payload) } : request
  const { taskId, known } = await demandWithRetry(link, own, 'submitted', retryOptions)
  return { taskId, known }
}

export interface SubmitManyOptions extends CallOptions {
  /** Maximum submissions in flight or not yet consumed. Default: the coordinator's limit, up to 256. */
  readonly window?: number | undefined
  /** Whether to retry after a temporary rejection. Default true. */
  readonly retryLater?: boolean | undefined
}

/** The outcome of one submission. `index` counts the items from 0, in input order. */
export type SubmitOutcome =
  | (Submitted & { readonly ok: true; readonly index: number })
  | { readonly ok: false; readonly index: number; readonly error: TenureError }

const windowDefault = 256
const windowMax = 65_536

export async function* submitMany(
  link: Link,
  items: Iterable<Submission> | AsyncIterable<Submission>,
  options: SubmitManyOptions,
): AsyncGenerator<SubmitOutcome, void, undefined> {
  checkCallOptions(options, ['window', 'retryLater'])
  const { signal, timeoutMs, window, retryLater = true } = options
  if (signal?.aborted) throw aborted(signal)
  // Aborts the submissions in flight when the signal aborts or the caller stops iterating.
  const ending = new AbortController()
  const start = async (item: Submission, index: number): Promise<SubmitOutcome> => {
    try {
      checkSubmission(item)
      const request = toRequest(item.payload, item, link.random)
      const options = { signal: ending.signal, timeoutMs, retryLater }
      return { ok: true, index, ...(await submit(link, request, options)) }
    } catch (error) {
      if (!(error instanceof TenureError)) throw error
      if (failsAll(error)) pipeline.stop(error)
      return { ok: false, index, error }
    }
  }
  const pipeline = new Pipeline(checkItems(items), resolveWindow(link, window), start)
  const onAbort = () => {
    pipeline.stop(aborted(signal))
    ending.abort(signal?.reason)
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    yield* pipeline.outcomes()
  } finally {
    signal?.removeEventListener('abort', onAbort)
    ending.abort()
  }
}

/** Whether every further submission would fail with the same error. */
function failsAll(error: TenureError): boolean {
  if (error instanceof RejectedError) return finalReasons.includes(error.reason)
  return error.code === 'CLIENT_CLOSED' || error.code === 'CLIENT_OTHER_LOG'
}

function resolveWindow(link: Link, given: number | undefined): number {
  if (given !== undefined) return check.whole('window', given, 1, windowMax)
  return Math.max(1, Math.min(link.limits?.requestsInFlightMax ?? 1, windowDefault))
}

function checkItems<T extends Iterable<Submission> | AsyncIterable<Submission>>(items: T): T {
  const isIterable =
    typeof items === 'object' &&
    items !== null &&
    (Symbol.asyncIterator in items || Symbol.iterator in items)
  if (isIterable) return items
  throw check.refusal(
    'items',
    `a ${typeof items}`,
    'an iterable or async iterable of { payload, ... }',
  )
}
