import { type Link, type LinkOptions, type NewRequest, openLink, TenureError } from '@tenure/client'
import type { Answer, AnswerKind, Leased } from '@tenure/protocol'
import type { Test } from 'tap'

/** An admin connection to the coordinator on this port, closed at the end of the test. */
export async function connectTo(
  t: Test,
  port: number,
  name: string,
  options: Partial<LinkOptions> = {},
): Promise<Link> {
  const own = { endpoints: [`127.0.0.1:${port}`], role: 'admin', name } as const
  const link = await openLink({ ...own, backoff: { initialMs: 1, maxMs: 10 }, ...options })
  t.teardown(() => link.close())
  return link
}

/** A link that does not reconnect: when its connection is lost, all its requests are rejected. */
export async function connectOnce(t: Test, port: number, name: string): Promise<Link> {
  const link: Link = await connectTo(t, port, name, {
    observer: { disconnected: () => void link.close() },
  })
  return link
}

/** The answer, which must be of this kind. */
export async function expect<K extends AnswerKind>(
  link: Link,
  kind: K,
  request: NewRequest,
): Promise<Extract<Answer, { kind: K }>> {
  const answer = await link.request(request)
  if (answer.kind !== kind) throw new Error(`${request.kind}: ${JSON.stringify(answer)}`)
  return answer as Extract<Answer, { kind: K }>
}

/** Leases a task from one of the queues, however long that takes. */
export async function leaseFrom(link: Link, queue: string): Promise<Leased> {
  for (;;) {
    const answer = await link.request({ kind: 'lease', queues: [queue], waitMs: 20_000 })
    if (answer.kind === 'leased') return answer
    if (answer.kind !== 'empty') throw new Error(JSON.stringify(answer))
  }
}

/** Repeats the work until the connection is lost, which is not an error. */
export async function untilLost(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof TenureError)) throw error
  }
}
