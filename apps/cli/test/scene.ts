import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Link, type NewRequest, openLink } from '@tenure/client'
import { type CoordinatorServer, startCoordinator } from '@tenure/coordinator-server'
import { type Explanation, type History, openHistory } from '@tenure/history'
import type { Extended, Leased } from '@tenure/protocol'
import { SimulatedClock } from '@tenure/testing'
import type { Test } from 'tap'
import { type Said, type } from './terminal.js'

/** The lease duration on the clock of the scene. */
export const leaseMs = 30_000

/** A coordinator on a simulated clock, with named workers. */
export class Scene {
  readonly dataDir: string
  readonly clock: SimulatedClock
  readonly #t: Test
  #coordinator: CoordinatorServer

  private constructor(
    t: Test,
    dataDir: string,
    clock: SimulatedClock,
    coordinator: CoordinatorServer,
  ) {
    this.#t = t
    this.dataDir = dataDir
    this.clock = clock
    this.#coordinator = coordinator
  }

  static async open(t: Test): Promise<Scene> {
    const dataDir = mkdtempSync(join(tmpdir(), 'tenure-'))
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
    const clock = new SimulatedClock({ startMs: Date.now() })
    const scene = new Scene(t, dataDir, clock, await serve(dataDir, clock))
    t.teardown(() => scene.stop())
    return scene
  }

  get port(): number {
    return this.#coordinator.port
  }

  stop(): Promise<void> {
    return this.#coordinator.stop()
  }

  async restart(): Promise<void> {
    this.#coordinator = await serve(this.dataDir, this.clock)
  }

  async connect(name: string, port = this.port): Promise<Link> {
    const link = await openLink({
      endpoints: [`127.0.0.1:${port}`],
      name,
      role: 'admin',
      backoff: { initialMs: 1, maxMs: 10 },
    })
    this.#t.teardown(() => link.close())
    return link
  }

  async submit(options: Partial<Extract<NewRequest, { kind: 'submit' }>> = {}): Promise<number> {
    const link = await this.connect('client')
    const work = { kind: 'submit', payload: Buffer.from('work') } as const
    const answer = await link.request({ ...work, ...options })
    if (answer.kind !== 'submitted') throw new Error(JSON.stringify(answer))
    return answer.taskId
  }

  tenure(...args: string[]): Promise<Said> {
    return type(args, { env: { TENURE_COORDINATOR: `127.0.0.1:${this.port}` } })
  }

  /** The explanation of the coordinator; the log alone must give the same one. */
  async explain(taskId: number): Promise<Explanation> {
    const { stdout, stderr } = await this.tenure('explain', String(taskId), '--json')
    if (stderr !== '') throw new Error(stderr)
    const told = JSON.parse(stdout) as Explanation
    const shown = await this.tenure('explain', String(taskId))
    const [sentence = ''] = shown.stdout.split('\n\n')
    this.#t.equal(sentence.replaceAll('\n', ' '), told.summary, 'the sentence is what is shown')
    const log = await this.tenure('explain', `${this.dataDir}#${taskId}`, '--json')
    const { attempts, overlaps } = JSON.parse(log.stdout) as Explanation
    this.#t.strictSame({ attempts, overlaps }, { attempts: told.attempts, overlaps: told.overlaps })
    return told
  }

  history(): Promise<History> {
    return openHistory(this.dataDir)
  }
}

function serve(dataDir: string, clock: SimulatedClock): Promise<CoordinatorServer> {
  const knobs = { leaseDurationMs: leaseMs }
  const log = { sync: 'none', clock } as const
  return startCoordinator({ dataDir, port: 0, httpPort: false, knobs, log, clock })
}

/** Leases a task that is eligible. */
export async function leaseFrom(link: Link): Promise<Leased> {
  const answer = await link.request({ kind: 'lease', queues: ['default'], waitMs: 0 })
  if (answer.kind !== 'leased') throw new Error(`no lease but ${answer.kind}`)
  return answer
}

export function reportOf({ taskId, leaseId }: Leased) {
  return { kind: 'complete', taskId, leaseId, reportId: `of ${leaseId}` } as const
}

/** Sends a heartbeat that extends the lease. */
export async function extend({ clock }: Scene, link: Link, lease: Leased): Promise<void> {
  await clock.advance(10)
  const answer = await link.request({ ...reportOf(lease), kind: 'heartbeat' })
  if ((answer as Extended).leaseExpiry !== lease.leaseExpiry + 10) throw new Error(answer.kind)
}
