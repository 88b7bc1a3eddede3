import { type ClientConnection, ProtocolError, type Reply } from '@tenure/protocol'
import { codeOf, withinMemory } from '../input/violation.js'

/** The replies that a client's end decodes from some bytes, and how it ends. */
export interface ClientOutcome {
  readonly replies: readonly Reply[]
  readonly end: string
}

/**
 * Every chunk arrives in the same buffer, as from a Node socket: the connection has to copy what it
 * keeps.
 */
export function tell(open: () => ClientConnection, pieces: readonly Uint8Array[]): ClientOutcome {
  const connection = open()
  const replies: Reply[] = []
  try {
    for (const piece of pieces) {
      const shared = Uint8Array.from(piece)
      withinMemory('a connection', () => connection.push(shared))
      for (;;) {
        const reply = withinMemory('a connection', () => connection.next())
        if (reply === undefined) break
        replies.push(reply)
      }
      connection.keep()
      shared.fill(0xc1)
    }
    return { replies, end: 'open' }
  } catch (error) {
    return { replies, end: codeOf(error, (it) => it instanceof ProtocolError) }
  }
}
