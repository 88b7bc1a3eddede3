import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Link, openLink } from '@tenure/client'
import { type CoordinatorOptions, startCoordinator } from '@tenure/coordinator-server'
import { type AppExit, AppProcess, cleanEnvironment, SimulatedClock } from '@tenure/testing'
import type { Test } from 'tap'
import { type Said, type } from './terminal.js'

export const binary = fileURLToPath(new URL('../src/main.js', import.meta.url))

/** Runs the built binary to its end. */
export function run(t: Test, args: readonly string[], env = {}): Promise<AppExit> {
  const whole = { ...cleanEnvironment(process.env), ...env }
  return new AppProcess(t, binary, { args, env: whole }).exited
}

/** A coordinator in this process on a simulated clock, and a worker that sends one request at a time. */
export class World {
  readonly #t: Test
  readonly #link: Link
  readonly endpoint: string
  readonly dataDir: string
  readonly clock: SimulatedClock

  constructor(t: Test, link: Link, parts: Pick<World, 'endpoint' | 'dataDir' | 'clock'>) {
    this.#t = t
    this.#link = link
    this.endpoint = parts.endpoint
    this.dataDir = parts.dataDir
    this.clock = parts.clock
  }

  static async start(t: Test, options: CoordinatorOptions = {}): Promise<World> {
    const dataDir = mkdtempSync(join(tmpdir(), 'tenure-'))
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
    const clock = new SimulatedClock({ startMs: Date.now() })
    const coordinator = await startCoordinator({
      dataDir,
      port: 0,
      httpPort: false,
      clock,
      ...options,
      log: { clock, sync: 'none', ...options.log },
    })
    t.teardown(() => coordinator.stop())
    const endpoint = `127.0.0.1:${coordinator.port}`
    const token = options.tokens?.[0]?.token
    const own = { name: 'w\u001b[31m1', role: 'work', token } as const
    const link = await openLink({ endpoints: [endpoint], ...own })
    t.teardown(() => link.close())
    return new World(t, link, { endpoint, dataDir, clock })
  }

  /** The address of the coordinator, with a timeout for slow machines. */
  get env() {
    return { TENURE_COORDINATOR: this.endpoint, TENURE_CONNECT_TIMEOUT: '5m' }
  }

  /** Runs `tenure` in this process: a process of its own takes half a second to start. */
  tenure(...args: string[]): Promise<Said> {
    return type(args, { env: this.env })
  }

  /** Runs the built binary. */
  run(...args: string[]): Promise<AppExit> {
    return run(this.#t, args, this.env)
  }

  /** Leases a task for the worker, which can then report. */
  async lease(queue = 'default') {
    const answer = await this.#link.request({ kind: 'lease', queues: [queue], waitMs: 10_000 })
    if (answer.kind !== 'leased') throw new Error(`no lease but ${answer.kind}`)
    const { taskId, leaseId } = answer
    const ids = { taskId, leaseId, reportId: `report-${leaseId}` }
    return {
      complete: (result?: string | Buffer) =>
        this.#link.request({
          kind: 'complete',
          ...ids,
          result: result === undefined ? undefined : Buffer.from(result as string),
        }),
      fail: (reason: string) => this.#link.request({ kind: 'fail', ...ids, reason }),
    }
  }
}
