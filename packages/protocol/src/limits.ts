import { longestMs } from '@tenure/options'

/** What a message can hold, whatever the coordinator's knobs say. Bytes are of UTF-8. */
export const messageLimits = {
  queueBytesMax: 64,
  queuesMax: 16,
  requestIdBytesMax: 128,
  reportIdBytesMax: 128,
  workerIdBytesMax: 128,
  tokenBytesMax: 1024,
  reasonBytesMax: 4096,
  listMax: 1000,
  durationMsMax: longestMs,
  timeMsMax: 2 ** 50,
  /** Before the handshake nobody needs more. */
  helloBytesMax: 4096,
  depthMax: 8,
  valuesMax: 100_000,
} as const

/** Of the protocol. A coordinator answers a hello of another version with its own. */
export const protocolVersion = 1
