import { WorkerError } from '../errors.js'
import { callHandler, describeThrown, type Handler, type LogFields } from '../handler.js'
import { LateAbort } from '../late-abort.js'
import { own } from '../result.js'
import type { Work } from '../task-facts.js'
import type { FromHost, ToHost } from './host-messages.js'
import { loadHandler } from './load-handler.js'

/** How a host reaches the runtime. */
export interface HostPort {
  post(message: FromHost): void
  listen(receive: (message: ToHost) => void): void
}

/** What runs in a thread or process of its own: the handler, and nothing that could wait for it. */
export async function serveHandler(url: string, port: HostPort): Promise<void> {
  const loading = loadHandler(url)
  let abort = new LateAbort()
  let current = 0
  port.listen((message) => {
    if (message.kind === 'run') {
      abort = new LateAbort()
      current = message.work.leaseId
      void runHandler(loading, message.work, abort, port)
    } else if (message.leaseId === current) {
      abort.abort(new WorkerError(message.code, message.message))
    }
  })
  try {
    await loading
    port.post({ kind: 'ready' })
  } catch (error) {
    port.post({ kind: 'unusable', reason: describeThrown(error).reason })
  }
}

async function runHandler(
  loading: Promise<Handler>,
  work: Work,
  abort: LateAbort,
  port: HostPort,
): Promise<void> {
  const { leaseId } = work
  // A module that cannot be loaded has been told of already.
  const handler = await loading.catch(() => undefined)
  if (handler === undefined) return
  // What has come from another process is a part of the whole message.
  const owned = { ...work, payload: own(work.payload) }
  const outcome = await callHandler(handler, owned, abort, (level, message, fields) => {
    port.post({ kind: 'logged', leaseId, level, message, ...(fields && { fields: plain(fields) }) })
  })
  port.post({ kind: 'ended', outcome })
}

/** Fields as a line would show them: a log line is no reason for a handler to fail. */
function plain(fields: LogFields): LogFields {
  try {
    return JSON.parse(JSON.stringify(fields)) as LogFields
  } catch (error) {
    return { unloggable: describeThrown(error).reason }
  }
}
