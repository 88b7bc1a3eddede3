import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Tenure } from '@tenure/client'
import { type CoordinatorOptions, startCoordinator } from '@tenure/coordinator-server'
import { AppProcess, cleanEnvironment } from '@tenure/testing'
import type { Test } from 'tap'

export const binary = fileURLToPath(new URL('../src/main.js', import.meta.url))

/** Runs the built binary in its own process, with a free HTTP port. */
export function startWorker(
  t: Test,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): AppProcess {
  const allArgs = ['--http-port', '0', ...args]
  return new AppProcess(t, binary, {
    args: allArgs,
    env: { ...cleanEnvironment(process.env), ...env },
  })
}

/** A coordinator in this process, an admin client, and workers that connect to it. */
export class World {
  readonly #t: Test
  readonly tenure: Tenure
  readonly endpoint: string

  constructor(t: Test, tenure: Tenure, endpoint: string) {
    this.#t = t
    this.tenure = tenure
    this.endpoint = endpoint
  }

  static async start(t: Test, options: CoordinatorOptions = {}): Promise<World> {
    const coordinator = await startCoordinator({
      dataDir: makeDirectory(t),
      port: 0,
      httpPort: false,
      log: { sync: 'none' },
      ...options,
      knobs: { ...quick, ...options.knobs },
    })
    t.teardown(() => coordinator.stop())
    const endpoint = `127.0.0.1:${coordinator.port}`
    const tenure = await connectTo(t, endpoint, options.tokens?.[0]?.token)
    return new World(t, tenure, endpoint)
  }

  worker(args: readonly string[], env: Readonly<Record<string, string>> = {}): AppProcess {
    return startWorker(this.#t, ['--coordinator', this.endpoint, ...args], env)
  }

  async submit(payload = 'work', options: Parameters<Tenure['submit']>[1] = {}): Promise<number> {
    return (await this.tenure.submit(Buffer.from(payload), options)).taskId
  }

  /** Resolves when the task has ended; its result as text. */
  async end(taskId: number) {
    const task = await this.tenure.waitFor(taskId, { pollMs: 20 })
    return { ...task, result: task.result && Buffer.from(task.result).toString() }
  }

  async run(payload?: string) {
    return this.end(await this.submit(payload))
  }
}

/** The default lease, which a busy machine can keep too, with frequent heartbeats. */
const quick = {
  heartbeatIntervalMs: 250,
  retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } },
} as const

export async function connectTo(t: Test, endpoint: string, token?: string): Promise<Tenure> {
  const tenure = await connect({
    endpoints: [endpoint],
    role: 'admin',
    token,
  })
  t.teardown(() => tenure.close())
  return tenure
}

/** Removed after everything that the test started later has ended. */
export function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Writes a module whose handler has this body. */
export function handlerFile(t: Test, body: string): string {
  const path = join(makeDirectory(t), 'handler.mjs')
  writeFileSync(path, `export default async function handle(task) {\n${body}\n}\n`)
  return path
}
