import { parentPort, workerData } from 'node:worker_threads'
import { serveHandler } from './host.js'

/** The program of a thread in which a handler runs. */
if (parentPort === null) throw new Error('this runs in a thread that the worker starts')
const port = parentPort
await serveHandler(workerData as string, {
  post: (message) => port.postMessage(message),
  listen: (receive) => {
    port.on('message', receive)
  },
})
