import { workerData } from 'node:worker_threads'

/**
 * Runs in a thread of a handler's process, and kills the process when the worker is gone. This works even if
 * the handler blocks the event loop of the process.
 */
const lookEveryMs = 1000

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL')
}, lookEveryMs)
