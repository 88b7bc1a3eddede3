import { type MessagePort, workerData } from 'node:worker_threads'
import { serveHandler } from './host.js'

/** The data that the worker passes to a handler's thread. */
export interface ThreadData {
  /** URL of the handler's module. */
  readonly url: string
  readonly port: MessagePort
}

/** The program of a handler's thread. */
const { url, port } = workerData as ThreadData
await serveHandler(url, {
  post: (message) => port.postMessage(message),
  listen: (receive) => {
    port.on('message', receive)
  },
})
