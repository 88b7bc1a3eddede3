import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type FromHost, seal, unseal } from './host-messages.js'
import type { Host, HostEvents, HostOptions } from './pooled-host.js'

const program = fileURLToPath(new URL('./process-main.js', import.meta.url))

/** Starts a handler's process. Leaks, corruption and exhausted memory end with the process. */
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
  // A handler that closes the channel can no longer be controlled.
  child.on('disconnect', () => child.kill('SIGKILL'))
  child.on('error', (error) => {
    // The process could not be started. A started process emits `exit` instead.
    if (child.pid === undefined) gone(error)
  })
  child.on('exit', (code, signal) => gone(`its process ended with ${signal ?? `code ${code}`}`))
  return {
    // A failed send needs no handling: a process that cannot be reached is about to exit.
    post: (message) => child.connected && child.send(seal(message), () => {}),
    kill: () => {
      child.kill('SIGKILL')
    },
  }
}
