/** Limits for peers: connections, requests, bytes and time. */
export interface ServerLimits {
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  readonly requestsInFlightMax: number
  /** Maximum number of waiting lease requests per connection. They do not count as in flight. */
  readonly pollsPerConnectionMax: number
  /** Maximum number of waiting lease requests on all connections together. */
  readonly waitingPollsMax: number
  readonly frameBytesMax: number
  readonly handshakeMs: number
  readonly frameMs: number
  /** Send buffer limit per connection. */
  readonly unsentBytesMax: number
  /** Disconnect a peer that is over the send buffer limit and reads nothing for this long. */
  readonly slowReaderMs: number
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
  slowReaderMs: 10_000,
}
