import { askPatiently } from './ask-patiently.js'
import type { CallOptions } from './limit.js'
import type { Link } from './link.js'
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
  const { taskId, known } = await askPatiently(link, request, 'submitted', patience)
  return { taskId, known }
}
