import { Worker as Thread } from 'node:worker_threads'
import { serveHandler } from './host.js'
import { seal, type ToHost, unseal } from './host-messages.js'

/** The program of a process in which a handler runs; its one argument is the handler's module. */
const [, , url] = process.argv
if (url === undefined || process.send === undefined) {
  throw new Error('this runs in a process that the worker starts')
}
// Ctrl-C in a terminal reaches every process there: whether to stop is the worker's decision.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
// Without a worker there is nobody to report to.
process.on('disconnect', () => process.exit())
// It was gone before there was anybody to hear of it: nothing would ever end this process.
if (!process.connected) process.exit()
const watch = new URL('./parent-watch.js', import.meta.url)
new Thread(watch, { workerData: process.ppid, execArgv: [] }).unref()
await serveHandler(url, {
  post: (message) => {
    // That it could not be sent says that the worker is gone, which `disconnect` is about to say.
    process.send?.(seal(message), undefined, undefined, () => {})
  },
  listen: (receive) => {
    process.on('message', (given) => {
      const message = unseal<ToHost>(given)
      if (message !== undefined) receive(message)
    })
  },
})
