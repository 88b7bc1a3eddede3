import type { Place, ServerProgram } from '../servers/server.js'

/** A system in one configuration, with the client that its users use. */
export interface Contender extends ServerProgram {
  /** Its name, with the setting that decides about durability. */
  readonly system: string
  readonly durability: Durability
  /** What an answer promises in this configuration, in words. */
  readonly promise: string
  /** Its code is compiled while it runs: it is measured when it has run for a while. */
  readonly warmsUp?: true
  /** Lives are measured through its handlers, too, beside those of requests made one by one. */
  readonly runsHandlers?: true
  /** It takes submissions and does nothing with them. */
  readonly isEcho?: true
  /** What it calls its version, where it is installed. */
  version(): string
  /** Once for an empty directory, before the first start. */
  prepare?(place: Place): Promise<void>
  /** One connection. Those of one system are opened one after the other, and are numbered from 0. */
  open(port: number, index: number): Promise<Client>
  /** With more tasks than this it is not measured: to put them there takes minutes. */
  readonly fillMax?: number
  /** Puts so many tasks there as quickly as its clients can. */
  fill(port: number, tasks: number): Promise<void>
  /** Calls `begun` for each task as its handler begins, and ends the task. */
  consume(port: number, handlers: Handlers, begun: () => void): Promise<Consumer>
}

/**
 * When a task is on the disk: before its submission is answered, some time after it, or whenever the
 * operating system writes it.
 */
export type Durability = 'before the answer' | 'soon after' | 'unsynced'

/** How many connections take tasks, and how many tasks each of them handles at once. */
export interface Handlers {
  readonly connections: number
  readonly atOnce: number
}

export interface Client {
  /** Settles when the task is accepted. */
  submit(): Promise<unknown>
  /** The same under an id of its own, with which it can be repeated without being two tasks. */
  submitWithId?(): Promise<unknown>
  /**
   * Takes a task, and ends it when it has it; false where there was none. Missing where the system's
   * client gives tasks to handlers only: then `consume` is what is measured.
   */
  process?(): Promise<boolean>
  /** Takes a task and keeps it. Missing where the system has no heartbeats. */
  hold?(): Promise<void>
  /** Says of one of the tasks that it keeps, of each in turn, that it is still at work. */
  heartbeat?(): Promise<unknown>
  close(): Promise<unknown>
}

export interface Consumer {
  stop(): Promise<unknown>
}

export const payloadBytes = 100

const connections = 16
const inFlight = 64

/** One submission for each task, many on their way: as quick as it gets where a client may send on. */
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
