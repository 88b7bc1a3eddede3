import {
  MessageChannel,
  receiveMessageOnPort,
  Worker as Thread,
  type WorkerOptions as ThreadOptions,
} from 'node:worker_threads'
import { check } from '../errors.js'
import type { Host, HostEvents, HostOptions } from './pooled-host.js'
import type { ThreadData } from './thread-main.js'

const program = new URL('./thread-main.js', import.meta.url)

function makeThread(options: ThreadOptions): Thread {
  try {
    return new Thread(program, options)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    if (error.code !== 'ERR_WORKER_INVALID_EXEC_ARGV') throw error
    const expected = `options that a thread accepts (${error.message})`
    throw check.refusal('options.execArgv', String(options.execArgv), expected)
  }
}

/**
 * Starts a handler's thread in this process. It has its own event loop and can be ended anywhere in
 * JavaScript. In a system call it ends when the call returns.
 */
export function startThread(url: string, options: HostOptions, events: HostEvents): Host {
  // A private channel: the handler may use the thread's `parentPort` itself.
  const { port1: port, port2: far } = new MessageChannel()
  const workerData: ThreadData = { url, port: far }
  const execArgv = [...options.execArgv]
  const thread = makeThread({ workerData, execArgv, transferList: [far] })
  let failure: unknown
  port.on('message', (message) => events.received(message))
  thread.on('error', (error) => {
    failure = error
  })
  thread.on('exit', (code) => {
    // Messages sent before the exit may not have been received yet.
    for (let left = receiveMessageOnPort(port); left; left = receiveMessageOnPort(port)) {
      events.received(left.message)
    }
    port.close()
    events.gone(failure ?? `its thread exited with code ${code}`)
  })
  return {
    post: (message) => port.postMessage(message),
    kill: () => {
      void thread.terminate()
    },
  }
}
