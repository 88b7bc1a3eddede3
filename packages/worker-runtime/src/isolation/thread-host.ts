import { Worker as Thread } from 'node:worker_threads'
import type { Host, HostEvents, HostOptions } from './host-seat.js'

const program = new URL('./thread-main.js', import.meta.url)

/** A thread of this process. It has a loop of its own, and can be ended in the middle of anything. */
export function startThread(url: string, options: HostOptions, events: HostEvents): Host {
  const thread = new Thread(program, { workerData: url, execArgv: [...options.execArgv] })
  let failure: unknown
  thread.on('message', (message) => events.received(message))
  thread.on('error', (error) => {
    failure = error
  })
  thread.on('exit', (code) => events.gone(failure ?? `its thread exited with code ${code}`))
  return {
    post: (message) => thread.postMessage(message),
    kill: () => {
      void thread.terminate()
    },
  }
}
