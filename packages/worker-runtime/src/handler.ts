import { WorkerError } from './errors.js'

/** Identifies an execution of a task. */
export interface TaskFacts {
  readonly taskId: number
  readonly queue: string
  /** Number of this execution of the task, counted from 1. */
  readonly attempt: number
  /**
   * Increases with every lease, across all tasks and restarts: a fencing token. A store that remembers the
   * highest id and rejects lower ones is safe from executions that have lost their lease.
   */
  readonly leaseId: number
}

/** The input of a handler. */
export interface Work extends TaskFacts {
  readonly payload: Uint8Array
  /** End of the execution window, in milliseconds since the epoch. The signal aborts then at the latest. */
  readonly deadline: number
}

/** A task as passed to a handler. `signal` and `log` are created lazily; `{ ...task }` has neither. */
export interface HandlerTask extends Work {
  /**
   * Aborts when the lease is lost, when the execution window is over, or when the worker stops. After that,
   * another worker may run the task at the same time. An aborted handler should throw: its return value still
   * counts as the result.
   */
  readonly signal: AbortSignal
  readonly log: TaskLog
}

/** Logs lines that also carry the facts of the task. */
export type TaskLog = { readonly [L in LogLevel]: (message: string, fields?: LogFields) => void }
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Runs one task. Its return value is the task's result: bytes unchanged, `undefined` as no result, anything
 * else as JSON. An error that it throws is a failure; the coordinator decides whether to retry.
 */
export type Handler = (task: HandlerTask) => unknown

/** How a handler ended. */
export type Outcome =
  | { readonly kind: 'returned'; readonly result: Uint8Array | undefined }
  | { readonly kind: 'failed'; readonly reason: string; readonly stack?: string }
  /** The thread, process or command ended unexpectedly. */
  | { readonly kind: 'crashed'; readonly reason: string }
  | { readonly kind: 'terminated' }

export type WriteLine = (level: LogLevel, message: string, fields?: LogFields) => void

/** Runs the handler and reports every possible end as an outcome. */
export async function callHandler(
  handler: Handler,
  task: HandlerTask,
  ended: (outcome: Outcome) => void,
): Promise<void> {
  let outcome: Outcome
  try {
    outcome = { kind: 'returned', result: encodeResult(await handler(task)) }
  } catch (error) {
    outcome = { kind: 'failed', ...describeThrown(error) }
  }
  ended(outcome)
}

/** Supplies the signal and the log of a task. Created lazily: most handlers use neither. */
export interface Backing {
  readonly signal: AbortSignal
  readonly write: WriteLine
}

/** Its accessors are on the prototype: defining them per task would take longer than everything else. */
export class LazyHandlerTask implements HandlerTask {
  readonly taskId: number
  readonly queue: string
  readonly attempt: number
  readonly leaseId: number
  readonly payload: Uint8Array
  readonly deadline: number
  readonly #backing: Backing

  constructor(work: Work, backing: Backing) {
    this.taskId = work.taskId
    this.queue = work.queue
    this.attempt = work.attempt
    this.leaseId = work.leaseId
    this.payload = work.payload
    this.deadline = work.deadline
    this.#backing = backing
  }

  get signal(): AbortSignal {
    return this.#backing.signal
  }

  get log(): TaskLog {
    return toLog(this.#backing)
  }
}

function toLog(backing: Backing): TaskLog {
  const to =
    (level: LogLevel): TaskLog[LogLevel] =>
    (message, fields) =>
      backing.write(
        level,
        toText(() => message),
        fields,
      )
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') }
}

/** Describes any thrown value. */
export function describeThrown(error: unknown): { reason: string; stack?: string } {
  if (!(error instanceof Error)) return { reason: `threw ${toText(() => error)}` }
  const reason = `${toText(() => error.name)}: ${toText(() => error.message)}`
  return { reason, stack: toText(() => error.stack ?? '') }
}

/** Converts any value to a string, even if its conversion throws: a log line must not make a handler fail. */
function toText(get: () => unknown): string {
  try {
    return String(get())
  } catch {
    return 'a value that cannot be shown'
  }
}

/** Encodes a handler's return value: bytes unchanged, anything else as JSON. */
function encodeResult(value: unknown): Uint8Array | undefined {
  if (value === undefined) return undefined
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice())
  if (ArrayBuffer.isView(value))
    return own(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined)
    throw new TypeError(
      `a ${typeof value} cannot be a result; return bytes or a value that JSON can hold`,
    )
  return new TextEncoder().encode(json)
}

/** Copies bytes into memory of their own: a view would send its whole buffer to a thread. */
export function own(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}

/** The default export of the module at this URL. */
export async function loadHandler(url: string): Promise<Handler> {
  const loaded = await importModule(url)
  if (typeof loaded.default === 'function') return loaded.default as Handler
  const message = `${url} has no function as its default export; write "export default async (task) => …"`
  throw new WorkerError('WORKER_BAD_HANDLER', message)
}

async function importModule(url: string): Promise<{ readonly default?: unknown }> {
  try {
    return await import(url)
  } catch (cause) {
    const message = `${url} cannot be loaded: ${describeThrown(cause).reason}`
    throw new WorkerError('WORKER_BAD_HANDLER', message, { cause })
  }
}
