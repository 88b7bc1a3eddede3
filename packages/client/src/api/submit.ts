import { check, finalReasons, RejectedError, TenureError } from '../errors.js'
import { aborted } from '../link/call-errors.js'
import { type CallOptions, checkCallOptions } from '../link/limit.js'
import type { Link } from '../link/link.js'
import { demandPatiently } from './demand.js'
import { Pipeline } from './pipeline.js'
import { checkSubmission, type NewSubmit, type Submission, toRequest } from './submission.js'

/** The task is on the coordinator's disk. */
export interface Submitted {
  readonly taskId: number
  /** It had been submitted before under its `requestId`. */
  readonly known: boolean
}

/** With a `requestId` asking again is safe; and a refusal that passes may be waited out. */
export async function submit(
  link: Link,
  request: NewSubmit,
  { signal, timeoutMs, retryLater }: CallOptions & { readonly retryLater: boolean },
): Promise<Submitted> {
  const retry = request.requestId !== undefined
  const patience = { signal, timeoutMs, retryLater, retry }
  // A first sending copies the payload by itself; a later one must send the same bytes, whatever the
  // caller has done with its buffer meanwhile.
  const own = retryLater ? { ...request, payload: new Uint8Array(request.payload) } : request
  const { taskId, known } = await demandPatiently(link, own, 'submitted', patience)
  return { taskId, known }
}

export interface SubmitManyOptions extends CallOptions {
  /** How many are on their way, or answered and not taken yet. Default what the coordinator takes at once, up to 256. */
  readonly window?: number | undefined
  /** As in `SubmitOptions`. Default true. */
  readonly retryLater?: boolean | undefined
}

/** What became of one of many; `index` counts them from 0, in the order they were given. */
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
  // Those on their way are given up when the caller's signal says so, or takes no more outcomes.
  const ending = new AbortController()
  const start = async (item: Submission, index: number): Promise<SubmitOutcome> => {
    try {
      checkSubmission(item)
      const request = toRequest(item.payload, item, link.random)
      const options = { signal: ending.signal, timeoutMs, retryLater }
      return { ok: true, index, ...(await submit(link, request, options)) }
    } catch (error) {
      if (!(error instanceof TenureError)) throw error
      if (isEndOfAll(error)) pipeline.stop(error)
      return { ok: false, index, error }
    }
  }
  const pipeline = new Pipeline(checkItems(items), settleWindow(link, window), start)
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

/** What would be said of every further one, too. */
function isEndOfAll(error: TenureError): boolean {
  if (error instanceof RejectedError) return finalReasons.includes(error.reason)
  return error.code === 'CLIENT_CLOSED'
}

function settleWindow(link: Link, given: number | undefined): number {
  if (given !== undefined) return check.whole('window', given, 1, windowMax)
  return Math.max(1, Math.min(link.limits?.requestsInFlightMax ?? 1, windowDefault))
}

function checkItems<T extends Iterable<Submission> | AsyncIterable<Submission>>(items: T): T {
  const isIterable =
    typeof items === 'object' &&
    items !== null &&
    (Symbol.asyncIterator in items || Symbol.iterator in items)
  if (isIterable) return items
  throw check.refusal('items', `a ${typeof items}`, 'an iterable of { payload, ... }, async or not')
}
