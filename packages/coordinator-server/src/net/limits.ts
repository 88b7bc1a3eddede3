/** What peers may take of the server. */
export interface ServerLimits {
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  readonly requestsInFlightMax: number
  /** Lease requests that may wait, which are not counted among those in flight. */
  readonly pollsPerConnectionMax: number
  /** How many of them wait at once, on all connections together. */
  readonly waitingPollsMax: number
  readonly frameBytesMax: number
  readonly handshakeMs: number
  readonly frameMs: number
  /** Who has more than this to read, */
  readonly unsentBytesMax: number
  /** and reads nothing of it for so long, is disconnected. */
  readonly deafMs: number
}

export const defaultLimits: ServerLimits = {
  connectionsMax: 10_000,
  connectionsPerAddressMax: 10_000,
  requestsInFlightMax: 1024,
  pollsPerConnectionMax: 1024,
  waitingPollsMax: 100_000,
  frameBytesMax: 1024 * 1024,
  handshakeMs: 10_000,
  frameMs: 30_000,
  unsentBytesMax: 1024 * 1024,
  deafMs: 10_000,
}
