import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type FromHost, seal, unseal } from './host-messages.js'
import type { Host, HostEvents, HostOptions } from './host-seat.js'

const program = fileURLToPath(new URL('./process-main.js', import.meta.url))

/** A process of its own: what the handler leaks, corrupts or exhausts goes with it. */
export function startProcess(url: string, options: HostOptions, events: HostEvents): Host {
  const child = fork(program, [url], {
    execArgv: [...options.execArgv],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let isGone = false
  const gone = (why: unknown) => {
    if (!isGone) events.gone(why)
    isGone = true
  }
  child.on('message', (given) => {
    const message = unseal<FromHost>(given)
    if (message !== undefined) events.received(message)
  })
  // A handler that cuts the channel cannot be told anything any more.
  child.on('disconnect', () => child.kill('SIGKILL'))
  child.on('error', (error) => {
    // It could not be started; of a process that runs, `exit` tells the end.
    if (child.pid === undefined) gone(error)
  })
  child.on('exit', (code, signal) => gone(`its process ended with ${signal ?? `code ${code}`}`))
  return {
    // Whether it arrived shows in what follows: a process that cannot be reached is about to exit.
    post: (message) => child.connected && child.send(seal(message), () => {}),
    kill: () => {
      child.kill('SIGKILL')
    },
  }
}
