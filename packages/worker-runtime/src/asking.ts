import { type Link, type NewRequest, type RequestOptions, TenureError } from '@tenure/client'
import type { Answer } from '@tenure/protocol'

/** Asks, and gives the error instead of throwing it: here it is an outcome like the others. */
export function ask(
  link: Link,
  request: NewRequest,
  options: RequestOptions = {},
): Promise<Answer | TenureError> {
  return link.request(request, options).catch(toOutcome)
}

function toOutcome(error: unknown): TenureError {
  if (error instanceof TenureError) return error
  throw error
}
