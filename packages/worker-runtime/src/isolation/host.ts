import { WorkerError } from '../errors.js'
import {
  callHandler,
  describeThrown,
  GivenTask,
  type Handler,
  type LogFields,
  loadHandler,
  own,
  type Work,
  type WriteLine,
} from '../handler.js'

import type { FromHost, ToHost } from './host-messages.js'
import { LateAbort } from './late-abort.js'
import { Valve } from './valve.js'

/** How a host reaches the runtime. */
export interface HostPort {
  post(message: FromHost): void
  listen(receive: (message: ToHost) => void): void
}

/** What runs in a thread or process of its own: the handler, and nothing that could wait for it. */
export async function serveHandler(url: string, port: HostPort): Promise<void> {
  const host = new HandlerHost(loadHandler(url), port)
  port.listen((message) => host.receive(message))
  await host.tellLoaded()
}

class HandlerHost {
  readonly #loading: Promise<Handler>
  readonly #port: HostPort
  readonly #valve: Valve
  /** The task at hand, or the last one. */
  #leaseId = 0
  #abort = new LateAbort()

  constructor(loading: Promise<Handler>, port: HostPort) {
    this.#loading = loading
    this.#port = port
    this.#valve = new Valve((level, message, fields) => {
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
      this.#port.post({ kind: 'unusable', reason: describeThrown(error).reason })
    }
  }

  receive(message: ToHost): void {
    if (message.kind === 'heard') this.#valve.heard(message.lines)
    else if (message.kind === 'run') void this.#run(message.work)
    else if (message.leaseId === this.#leaseId) {
      this.#abort.abort(new WorkerError(message.code, message.message))
    }
  }

  async #run(work: Work): Promise<void> {
    const { leaseId } = work
    const abort = new LateAbort()
    this.#leaseId = leaseId
    this.#abort = abort
    // A module that cannot be loaded has been told of already.
    const handler = await this.#loading.catch(() => undefined)
    if (handler === undefined) return
    // What has come from another process is a part of the whole message.
    const owned = { ...work, payload: own(work.payload) }
    const write: WriteLine = (level, message, fields) => {
      // What a handler leaves behind may still speak; its task is over.
      if (this.#leaseId === leaseId) this.#valve.pass(level, message, fields && plain(fields))
    }
    const backing = {
      write,
      get signal() {
        return abort.signal
      },
    }
    await callHandler(handler, new GivenTask(owned, backing), (outcome) => {
      this.#valve.tellLeftOut()
      this.#port.post({ kind: 'ended', leaseId, outcome })
    })
  }
}

const fieldsCharactersMax = 65_536

/** Fields as a line would show them: a log line is no reason for a handler to fail. */
function plain(fields: LogFields): LogFields {
  try {
    const json = JSON.stringify(fields)
    if (json.length > fieldsCharactersMax) return { unloggable: `${json.length} characters` }
    return JSON.parse(json) as LogFields
  } catch (error) {
    return { unloggable: describeThrown(error).reason }
  }
}
