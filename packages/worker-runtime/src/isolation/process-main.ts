import { Worker as Thread } from 'node:worker_threads'
import { serveHandler } from './host.js'
import { seal, type ToHost, unseal } from './host-messages.js'

/** The program of a handler's process. Its one argument is the URL of the handler's module. */
const [, , url] = process.argv
if (url === undefined || process.send === undefined) {
  throw new Error('this program must be started by a worker')
}
// Ctrl-C in a terminal signals every process; only the worker decides whether to stop.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
// Without a worker there is nothing left to do.
process.on('disconnect', () => process.exit())
// The worker may have gone before the listener above was added.
if (!process.connected) process.exit()
const watch = new URL('./parent-watch.js', import.meta.url)
new Thread(watch, { workerData: process.ppid, execArgv: [] }).unref()
await serveHandler(url, {
  post: (message) => {
    // A failed send means that the worker is gone; `disconnect` follows.
    process.send?.(seal(message), undefined, undefined, () => {})
  },
  listen: (receive) => {
    process.on('message', (given) => {
      const message = unseal<ToHost>(given)
      if (message !== undefined) receive(message)
    })
  },
})
