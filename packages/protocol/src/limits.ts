import { longestMs } from '@tenure/options'

/** Limits of every message, independent of the coordinator's knobs. Bytes are UTF-8 bytes. */
export const messageLimits = {
  queueBytesMax: 64,
  queuesMax: 16,
  requestIdBytesMax: 128,
  reportIdBytesMax: 128,
  workerIdBytesMax: 128,
  tokenBytesMax: 1024,
  /** A host name of 253 bytes, or an address in brackets, and a port. */
  endpointBytesMax: 261,
  reasonBytesMax: 4096,
  listMax: 1000,
  durationMsMax: longestMs,
  timeMsMax: 2 ** 50,
  /** Maximum frame body before the handshake is complete. */
  helloBytesMax: 4096,
  depthMax: 8,
  valuesMax: 100_000,
} as const

/** Version of the protocol. A coordinator answers a hello of another version with its own version. */
export const protocolVersion = 1
