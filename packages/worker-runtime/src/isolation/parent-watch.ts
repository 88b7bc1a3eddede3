import { workerData } from 'node:worker_threads'

/**
 * A thread beside a handler in a process of its own: when the worker is gone it ends the process,
 * also where the handler never lets the process's own loop hear of it.
 */
const lookEveryMs = 1000

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL')
}, lookEveryMs)
