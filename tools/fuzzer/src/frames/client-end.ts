import { type ClientConnection, ProtocolError, type Reply } from '@tenure/protocol'
import { codeOf, withinMemory } from '../input/violation.js'

/** What an asker's end makes of some bytes, and how it ends. */
export interface Told {
  readonly replies: readonly Reply[]
  readonly end: string
}

/**
 * Each piece comes in memory that is used again for the next one, as a socket of Node hands it over:
 * what the connection needs of it has to be kept.
 */
export function tell(open: () => ClientConnection, pieces: readonly Uint8Array[]): Told {
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
