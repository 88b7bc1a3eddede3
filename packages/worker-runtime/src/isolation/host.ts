import { WorkerError } from '../errors.js'
import {
  callHandler,
  describeThrown,
  type Handler,
  LazyHandlerTask,
  type LogFields,
  loadHandler,
  own,
  type Work,
  type WriteLine,
} from '../handler.js'

import type { FromHost, ToHost } from './host-messages.js'
import { LazyAbort } from './lazy-abort.js'
import { LogThrottle } from './log-throttle.js'

/** The host's side of the channel to the runtime. */
export interface HostPort {
  post(message: FromHost): void
  listen(receive: (message: ToHost) => void): void
}

/** Runs in a handler's thread or process: loads the handler and runs its tasks. */
export async function serveHandler(url: string, port: HostPort): Promise<void> {
  const host = new HandlerHost(loadHandler(url), port)
  port.listen((message) => host.receive(message))
  await host.tellLoaded()
}

class HandlerHost {
  readonly #loading: Promise<Handler>
  readonly #port: HostPort
  readonly #throttle: LogThrottle
  /** Lease of the current or last task. */
  #leaseId = 0
  #abort = new LazyAbort()

  constructor(loading: Promise<Handler>, port: HostPort) {
    this.#loading = loading
    this.#port = port
    this.#throttle = new LogThrottle((level, message, fields) => {
      port.post({
        kind: 'logged',
        leaseId: this.#leaseId,
        level,
        message,
        fields,
      })
    })
  }

  async tellLoaded(): Promise<void> {
    try {
      await this.#loading
      this.#port.post({ kind: 'ready' })
    } catch (error) {
      const reason = error instanceof WorkerError ? error.message : describeThrown(error).reason
      this.#port.post({ kind: 'unusable', reason })
    }
  }

  receive(message: ToHost): void {
    if (message.kind === 'acknowledged') this.#throttle.acknowledge(message.lines)
    else if (message.kind === 'run') void this.#run(message.work)
    else if (message.leaseId === this.#leaseId) {
      this.#abort.abort(new WorkerError(message.code, message.message))
    }
  }

  async #run(work: Work): Promise<void> {
    const { leaseId } = work
    const abort = new LazyAbort()
    this.#leaseId = leaseId
    this.#abort = abort
    // A load failure was already reported as `unusable`.
    const handler = await this.#loading.catch(() => undefined)
    if (handler === undefined) return
    // Bytes from another process are a view of the whole message.
    const owned = { ...work, payload: own(work.payload) }
    const write: WriteLine = (level, message, fields) => {
      // Code that a handler leaves running may still log, but its task is over.
      if (this.#leaseId === leaseId) this.#throttle.pass(level, message, fields && plain(fields))
    }
    const backing = {
      write,
      get signal() {
        return abort.signal
      },
    }
    await callHandler(handler, new LazyHandlerTask(owned, backing), (outcome) => {
      this.#throttle.reportDropped()
      this.#port.post({ kind: 'ended', leaseId, outcome })
    })
  }
}

const fieldsCharactersMax = 65_536

/** Converts log fields to plain JSON values. Invalid fields must not make a handler fail. */
function plain(fields: LogFields): LogFields {
  try {
    const json = JSON.stringify(fields)
    if (json.length > fieldsCharactersMax) return { unloggable: `${json.length} characters` }
    return JSON.parse(json) as LogFields
  } catch (error) {
    return { unloggable: describeThrown(error).reason }
  }
}
