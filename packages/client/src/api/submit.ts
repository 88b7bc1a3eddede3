import type { CallOptions } from '../link/limit.js'
import type { Link } from '../link/link.js'
import { demandPatiently } from './demand-patiently.js'
import type { NewSubmit } from './submission.js'

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
