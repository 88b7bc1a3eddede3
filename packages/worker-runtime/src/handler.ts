import { WorkerError } from './errors.js'

/** Which execution of which task something is about. */
export interface TaskFacts {
  readonly taskId: number
  readonly queue: string
  /** Which execution of the task this is, counted from 1. */
  readonly attempt: number
  /**
   * Grows with every lease, over all tasks and restarts: a fencing token. A store that remembers the
   * highest one it has seen and refuses lower ones is safe from an execution that has lost its lease.
   */
  readonly leaseId: number
}

/** What a handler is given to work on. */
export interface Work extends TaskFacts {
  readonly payload: Uint8Array
  /** When the signal aborts at the latest, in milliseconds since the epoch: the execution window is over. */
  readonly deadline: number
}

/** A task, as a handler gets it. `signal` and `log` are made when they are looked at; `{ ...task }` has neither. */
export interface HandlerTask extends Work {
  /**
   * Aborts when the lease is lost, when the execution window is over, or when the worker stops. What
   * is done after that may be done a second time by another worker at the same moment. A handler that
   * breaks off should throw: what it returns is taken for its result, also after the abort.
   */
  readonly signal: AbortSignal
  readonly log: TaskLog
}

/** Each line carries the task's own facts beside what it is given. */
export type TaskLog = { readonly [L in LogLevel]: (message: string, fields?: LogFields) => void }
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Runs one task. What it gives becomes the task's result: bytes as they are, `undefined` none, and
 * anything else as JSON. What it throws becomes a failure, and the coordinator decides what follows.
 */
export type Handler = (task: HandlerTask) => unknown

/** How a handler ended. */
export type Outcome =
  | { readonly kind: 'returned'; readonly result: Uint8Array | undefined }
  | { readonly kind: 'failed'; readonly reason: string; readonly stack?: string }
  /** What it ran in ended under it. */
  | { readonly kind: 'crashed'; readonly reason: string }
  | { readonly kind: 'terminated' }

export type WriteLine = (level: LogLevel, message: string, fields?: LogFields) => void

/** Whatever a handler does is an outcome. */
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

/** What stands behind a task: most handlers never ask for it. */
export interface Backing {
  readonly signal: AbortSignal
  readonly write: WriteLine
}

/** Its accessors are those of its class: to make them for each task would take longer than all else. */
export class GivenTask implements HandlerTask {
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

/** Anything can be thrown. */
export function describeThrown(error: unknown): { reason: string; stack?: string } {
  if (!(error instanceof Error)) return { reason: `threw ${toText(() => error)}` }
  const reason = `${toText(() => error.name)}: ${toText(() => error.message)}`
  return { reason, stack: toText(() => error.stack ?? '') }
}

/** Of anything, also where there are no types, or a getter that throws: no text is worth failing for. */
function toText(get: () => unknown): string {
  try {
    return String(get())
  } catch {
    return 'something that has no text'
  }
}

/** What a handler gave, as the bytes of a result: those of anything that is bytes, else JSON. */
function encodeResult(value: unknown): Uint8Array | undefined {
  if (value === undefined) return undefined
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice())
  if (ArrayBuffer.isView(value))
    return own(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined) throw new TypeError(`a ${typeof value} cannot be a result`)
  return new TextEncoder().encode(json)
}

/** Bytes that share their memory with nothing: a thread would be sent all of what they are a part of. */
export function own(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}

/** The default export of the module at this URL. */
export async function loadHandler(url: string): Promise<Handler> {
  const loaded = await importModule(url)
  if (typeof loaded.default === 'function') return loaded.default as Handler
  const message = `${url} has no function as its default export: write "export default async (task) => …"`
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
