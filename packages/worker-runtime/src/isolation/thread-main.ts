import { type MessagePort, workerData } from 'node:worker_threads'
import { serveHandler } from './host.js'

/** What a thread is given by the worker that starts it. */
export interface ThreadData {
  /** The handler's module. */
  readonly url: string
  readonly port: MessagePort
}

/** The program of a thread in which a handler runs. */
const { url, port } = workerData as ThreadData
await serveHandler(url, {
  post: (message) => port.postMessage(message),
  listen: (receive) => {
    port.on('message', receive)
  },
})
