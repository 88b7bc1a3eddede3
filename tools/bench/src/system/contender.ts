import type { Place, ServerProgram } from '../servers/server.js'

/** A system in one configuration, with the client that its users use. */
export interface Contender extends ServerProgram {
  /** Its name, with the setting that decides when a task is durable. */
  readonly system: string
  readonly durability: Durability
  /** The guarantee of an answer in this configuration. */
  readonly promise: string
  /** Its code is compiled while it runs, so it is measured after a warm-up. */
  readonly warmsUp?: true
  /** Whole lives are also measured through its handlers, not only by single requests. */
  readonly runsHandlers?: true
  /** It answers submissions and does nothing with them. */
  readonly isEcho?: true
  /** The version that the installed program reports. */
  version(): string
  /** Called once for an empty directory, before the first start. */
  prepare?(place: Place): Promise<void>
  /**
   * Opens one connection. The connections of a system are opened one after the other and numbered
   * from 0.
   */
  open(port: number, index: number): Promise<Client>
  /** Maximum number of waiting tasks to measure with: submitting more takes minutes. */
  readonly fillMax?: number
  /** Submits this many tasks as fast as its clients can. */
  fill(port: number, tasks: number): Promise<void>
  /** Handles tasks: calls `begun` when a handler begins, then ends the task. */
  consume(port: number, handlers: Handlers, begun: () => void): Promise<Consumer>
}

/**
 * When a task is on the disk: before its submission is answered, some time after that, or whenever
 * the operating system writes it.
 */
export type Durability = 'before the answer' | 'soon after' | 'unsynced'

/** How many connections take tasks, and how many tasks each of them handles concurrently. */
export interface Handlers {
  readonly connections: number
  readonly atOnce: number
}

export interface Client {
  /** Settles when the task is accepted. */
  submit(): Promise<unknown>
  /** Submits with an id, so that a repeated submission creates no second task. */
  submitWithId?(): Promise<unknown>
  /**
   * Takes a task and ends it; returns false if there was none. Missing where the system's client
   * gives tasks only to handlers; `consume` is measured instead.
   */
  process?(): Promise<boolean>
  /** Takes a task and keeps it. Missing where the system has no heartbeats. */
  hold?(): Promise<void>
  /** Sends a heartbeat for one of the held tasks, each in turn. */
  heartbeat?(): Promise<unknown>
  close(): Promise<unknown>
}

export interface Consumer {
  stop(): Promise<unknown>
}

export const payloadBytes = 100

const connections = 16
const inFlight = 64

/** One submission for each task, many in flight: the fastest way for a client that pipelines. */
export async function fillThrough({ open }: Contender, port: number, tasks: number): Promise<void> {
  const clients = await Promise.all(Array.from({ length: connections }, (_, n) => open(port, n)))
  let left = tasks
  const loops = clients.flatMap((client) =>
    Array.from({ length: inFlight }, async () => {
      while (left-- > 0) await client.submit()
    }),
  )
  await Promise.all(loops)
  await Promise.all(clients.map((client) => client.close()))
}
