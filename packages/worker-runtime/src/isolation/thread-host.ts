import {
  MessageChannel,
  receiveMessageOnPort,
  Worker as Thread,
  type WorkerOptions as ThreadOptions,
} from 'node:worker_threads'
import { check } from '../errors.js'
import type { Host, HostEvents, HostOptions } from './host-seat.js'
import type { ThreadData } from './thread-main.js'

const program = new URL('./thread-main.js', import.meta.url)

function makeThread(options: ThreadOptions): Thread {
  try {
    return new Thread(program, options)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    if (error.code !== 'ERR_WORKER_INVALID_EXEC_ARGV') throw error
    const expected = `what a thread takes (${error.message})`
    throw check.refusal('options.execArgv', String(options.execArgv), expected)
  }
}

/**
 * A thread of this process. It has a loop of its own, and can be ended in the middle of any code of
 * its own; in the middle of a call into the system it ends when that returns.
 */
export function startThread(url: string, options: HostOptions, events: HostEvents): Host {
  // Of our own: on the thread's `parentPort` anybody may speak.
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
    // What it said before it ended may still be on its way.
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
