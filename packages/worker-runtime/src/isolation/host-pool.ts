import { WorkerError } from '../errors.js'
import type { Work } from '../handler.js'
import type { Isolation, Run, RunEvents } from './isolation.js'
import { PooledHost, type StartHost } from './pooled-host.js'

/**
 * A pool of hosts that run one task each. It starts a host when none is free, and reuses a host unless its
 * handler was terminated or crashed. So there are never more hosts than concurrent tasks.
 */
export class HostPool implements Isolation {
  readonly #start: StartHost
  readonly #all = new Set<PooledHost>()
  /** Free hosts; the last one was used most recently, so its memory is warm. */
  readonly #free: PooledHost[] = []
  readonly #onCrash: (reason: string) => void

  /** `onCrash` is called for hosts that end while they run no task. */
  constructor(start: StartHost, onCrash: (reason: string) => void) {
    this.#start = start
    this.#onCrash = onCrash
  }

  /** Starts a first host, to detect a handler that cannot be loaded before a task is leased. */
  async start(): Promise<void> {
    const host = this.#open()
    const failure = await host.loaded
    if (failure !== undefined) throw new WorkerError('WORKER_BAD_HANDLER', failure)
    this.#free.push(host)
  }

  run(work: Work, events: RunEvents): Run {
    const host = this.#free.pop() ?? this.#open()
    return host.run(work, events)
  }

  async close(): Promise<void> {
    this.#free.length = 0
    const hosts = [...this.#all]
    for (const host of hosts) host.kill()
    await Promise.all(hosts.map(({ gone }) => gone))
  }

  #open(): PooledHost {
    const host = new PooledHost(this.#start, {
      freed: (host) => this.#free.push(host),
      gone: (host, why) => this.#remove(host, why),
    })
    this.#all.add(host)
    return host
  }

  #remove(host: PooledHost, why: string): void {
    this.#all.delete(host)
    const at = this.#free.indexOf(host)
    if (at === -1) return
    this.#free.splice(at, 1)
    this.#onCrash(why)
  }
}
