import {
  type Arrival,
  type ConnectionLimits,
  type Hello,
  ProtocolError,
  type ServerConnection,
  type Welcome,
} from '@tenure/protocol'
import { isPoll } from '@tenure/protocol/internal'
import { codeOf, withinMemory } from '../input/violation.js'

export const limits: ConnectionLimits = {
  frameBytesMax: 2 ** 20,
  requestsInFlightMax: 4,
  handshakeMs: 10_000,
  frameMs: 30_000,
}

export const welcome: Welcome = {
  version: 1,
  epoch: 1,
  leaseDurationMs: 30_000,
  heartbeatIntervalMs: 10_000,
  syncMode: 'always',
  limits: {
    frameBytesMax: limits.frameBytesMax,
    payloadBytesMax: 2 ** 18,
    resultBytesMax: 2 ** 16,
    requestsInFlightMax: limits.requestsInFlightMax,
    pollsPerConnectionMax: 8,
    waitMsMax: 60_000,
  },
  log: '0123456789abcdef'.repeat(2),
}

/** The requests that a coordinator's end decodes from some bytes, and how it ends. */
export interface ServerOutcome {
  readonly arrivals: readonly Arrival[]
  /** `open` if nothing is wrong, `unwelcome` after a rejected hello. */
  readonly end: 'open' | 'unwelcome' | 'PROTOCOL_FRAME_TOO_LARGE' | string
}

export type OpenServer = (limits: ConnectionLimits, now: number) => ServerConnection

/** Answers everything immediately, whenever the connection accepts no more input. */
export function listenTo(
  open: OpenServer,
  pieces: readonly Uint8Array[],
  isWelcome: (hello: Hello) => boolean,
): ServerOutcome {
  const connection = open(limits, 0)
  const arrivals: Arrival[] = []
  try {
    for (const piece of pieces) {
      withinMemory('a connection', () => connection.push(piece, 0))
      for (;;) {
        const arrival = withinMemory('a connection', () => connection.next(0))
        if (arrival !== undefined) {
          arrivals.push(arrival)
          if (arrival.kind === 'hello') {
            if ('otherVersion' in arrival.hello || !isWelcome(arrival.hello)) {
              return { arrivals, end: 'unwelcome' }
            }
            connection.welcome(welcome)
          } else if (isPoll(arrival.request)) connection.answer(pong, true)
        } else if (connection.inFlight === 0) break
        else while (connection.inFlight > 0) connection.answer(pong)
      }
    }
    return { arrivals, end: 'open' }
  } catch (error) {
    return { arrivals, end: codeOf(error, (it) => it instanceof ProtocolError) }
  }
}

const pong = { kind: 'pong', id: 1 } as const
