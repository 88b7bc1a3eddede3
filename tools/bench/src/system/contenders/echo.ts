import { fileURLToPath } from 'node:url'
import { isListening } from '../../servers/ask.js'
import type { Contender } from '../contender.js'
import { openAs, TenureClient } from './tenure.js'

/**
 * The limit that sockets, framing and the load itself set in Node: every submission is answered
 * immediately, nothing is decided or written.
 */
export const echoContenders: readonly Contender[] = [
  {
    system: 'echo',
    isEcho: true,
    durability: 'unsynced',
    promise: 'nothing: each frame is answered with one of the same kind',
    program: fileURLToPath(new URL('./echo-server.js', import.meta.url)),
    args: ({ port }) => [`${port}`],
    answers: isListening,
    version: () => `Node ${process.version}`,
    open: async (port, index) => new TenureClient(await openAs(port, `bench-${index}`)),
    fill: () => Promise.reject(new Error('an echo keeps nothing')),
    consume: () => Promise.reject(new Error('an echo gives nothing')),
  },
]
