/** What peers may take of the port. */
export interface HttpPortLimits {
  /** Beyond it the oldest connection makes room for a new one. */
  readonly connectionsMax: number
  /** Time allowed to send a request, from the moment of connecting. */
  readonly requestMs: number
  /** A connection on which nothing moves for this long is closed. */
  readonly idleMs: number
}

export const defaultHttpPortLimits: HttpPortLimits = {
  connectionsMax: 64,
  requestMs: 5000,
  idleMs: 10_000,
}
