import { createHash, timingSafeEqual } from 'node:crypto'
import type { Hello, Reason, RequestKind, Role } from '@tenure/protocol'

/** A secret that grants roles. */
export interface Token {
  readonly token: string
  readonly roles: readonly Role[]
}

const everyRole = ['get', 'ping'] as const

/** The requests that each role may send. */
const allowed: { readonly [R in Role]: ReadonlySet<RequestKind> } = {
  produce: new Set([...everyRole, 'submit', 'list', 'stats', 'why', 'history']),
  work: new Set([...everyRole, 'lease', 'heartbeat', 'complete', 'fail', 'withdraw']),
  admin: new Set([
    ...everyRole,
    ...(['submit', 'list', 'stats', 'lease', 'heartbeat', 'complete'] as const),
    ...(['fail', 'withdraw', 'kill', 'workers', 'why', 'history', 'checkpoint'] as const),
  ]),
}

/** Checks tokens and roles. Without configured tokens, every role is granted. */
export class Gate {
  readonly #tokens: readonly { readonly digest: Buffer; readonly roles: readonly Role[] }[]

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens.map(({ token, roles }) => ({ digest: digest(token), roles }))
  }

  /** Why the peer is rejected, or `undefined` when it is accepted. */
  refusal({
    token,
    role,
  }: Hello): { readonly reason: Reason; readonly message: string } | undefined {
    if (this.#tokens.length === 0) return undefined
    const given = digest(token ?? '')
    const roles: Role[] = []
    // Compare all tokens in constant time, so that timing reveals nothing.
    for (const known of this.#tokens) {
      if (timingSafeEqual(known.digest, given)) roles.push(...known.roles)
    }
    if (token === undefined || roles.length === 0)
      return { reason: 'UNAUTHORIZED', message: 'the token is wrong or missing' }
    if (roles.includes(role)) return undefined
    return { reason: 'FORBIDDEN', message: `the token does not grant the role ${role}` }
  }

  static mayAsk(role: Role, kind: RequestKind): boolean {
    return allowed[role].has(kind)
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
