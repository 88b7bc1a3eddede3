import { createHash, timingSafeEqual } from 'node:crypto'
import type { Hello, Reason, RequestKind, Role } from '@tenure/protocol'

/** Somebody who knows the token may take one of the roles. */
export interface Token {
  readonly token: string
  readonly roles: readonly Role[]
}

const everybody = ['get', 'ping'] as const

/** What each role may ask. */
const allowed: { readonly [R in Role]: ReadonlySet<RequestKind> } = {
  produce: new Set([...everybody, 'submit', 'list', 'stats', 'why', 'history']),
  work: new Set([...everybody, 'lease', 'heartbeat', 'complete', 'fail', 'withdraw']),
  admin: new Set([
    ...everybody,
    ...(['submit', 'list', 'stats', 'lease', 'heartbeat', 'complete'] as const),
    ...(['fail', 'withdraw', 'kill', 'workers', 'why', 'history', 'checkpoint'] as const),
  ]),
}

/** Who comes in, and what they may ask. Without tokens everybody may take every role. */
export class Gate {
  readonly #tokens: readonly { readonly digest: Buffer; readonly roles: readonly Role[] }[]

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens.map(({ token, roles }) => ({ digest: digest(token), roles }))
  }

  /** Why the peer has to stay outside, or `undefined`. */
  refusal({
    token,
    role,
  }: Hello): { readonly reason: Reason; readonly message: string } | undefined {
    if (this.#tokens.length === 0) return undefined
    const given = digest(token ?? '')
    const roles: Role[] = []
    // Every token is compared, each in the same time, so that the time says nothing.
    for (const known of this.#tokens) {
      if (timingSafeEqual(known.digest, given)) roles.push(...known.roles)
    }
    if (token === undefined || roles.length === 0)
      return { reason: 'UNAUTHORIZED', message: 'the token is wrong or missing' }
    if (roles.includes(role)) return undefined
    return { reason: 'FORBIDDEN', message: `this token does not allow the role ${role}` }
  }

  static mayAsk(role: Role, kind: RequestKind): boolean {
    return allowed[role].has(kind)
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
