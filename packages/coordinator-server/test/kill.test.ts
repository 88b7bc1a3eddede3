import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random } from '@tenure/testing'
import t from 'tap'
import { CoordinatorProcess } from './coordinator-process.js'
import { PeerClient } from './peer-client.js'

const rounds = Number(process.env.TENURE_KILL_ROUNDS ?? 10)

t.test(`SIGKILL at ${rounds} random moments, under load`, { timeout: 0 }, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tenure-kill-'))
  t.teardown(() => rm(dataDir, { recursive: true, force: true }))
  const random = new Random(Number(process.env.TENURE_SEED ?? 1))
  const witness = new Witness()
  for (let round = 1; round <= rounds; round++) {
    const coordinator = await CoordinatorProcess.start(dataDir)
    const seen = await witness.check(coordinator.port)
    const restarts = await metric(coordinator.httpPort, 'tenure_coordinator_restarts')
    if (restarts !== round - 1) t.fail(`the restart count is ${restarts} in round ${round}`)
    const load = Array.from({ length: 8 }, (_, index) =>
      witness.load(coordinator.port, `${round}-${index}`),
    )
    await witness.untilGrown(seen + 1 + random.integer(300))
    await coordinator.kill()
    await Promise.all(load)
  }
  const last = await CoordinatorProcess.start(dataDir)
  await witness.check(last.port)
  t.equal(await last.stop(), 0)
  t.ok(witness.size > rounds)
  t.comment(`${witness.size} acknowledged facts, none of them lost`)
})

async function metric(httpPort: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

/** What was acknowledged, and who waits for more of it. */
class Witness {
  readonly #submitted: number[] = []
  readonly #leases: { readonly taskId: number; readonly leaseId: number; readonly name: string }[] =
    []
  readonly #completed: number[] = []
  #checked = 0
  #waiting: { readonly size: number; readonly resolve: () => void } | undefined

  get size(): number {
    return this.#submitted.length + this.#leases.length + this.#completed.length
  }

  untilGrown(size: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { size, resolve }
      this.#grow()
    })
  }

  /** Submits, leases, and completes every other lease, until the connection breaks. */
  async load(port: number, name: string): Promise<void> {
    const client = await PeerClient.open(port, { name }).catch(() => undefined)
    if (client === undefined) return
    const broken = client.closed.then(() => undefined)
    for (let count = 0; ; count++) {
      const submitted = await Promise.race([
        broken,
        client.ask({ kind: 'submit', payload: Buffer.from(name) }),
      ])
      if (submitted?.kind !== 'submitted') return
      this.#note(() => this.#submitted.push(submitted.taskId))
      const leased = await Promise.race([
        broken,
        client.ask({ kind: 'lease', queues: ['default'], waitMs: 0 }),
      ])
      if (leased?.kind !== 'leased') return
      const { taskId, leaseId } = leased
      this.#note(() => this.#leases.push({ taskId, leaseId, name }))
      if (count % 2 === 0) continue
      const committed = await Promise.race([
        broken,
        client.ask({ kind: 'complete', taskId, leaseId }),
      ])
      if (committed?.kind !== 'committed') return
      this.#note(() => this.#completed.push(taskId))
    }
  }

  /** Everything of the last round is there, and every lease of it that was not used up is still valid. */
  async check(port: number): Promise<number> {
    const client = await PeerClient.open(port, { name: 'witness' })
    const tasks = new Map<
      number,
      { state: string; attempts: { leaseId: number; workerId: string }[] }
    >()
    const newIds = new Set([
      ...this.#submitted,
      ...this.#completed,
      ...this.#leases.map(({ taskId }) => taskId),
    ])
    for (const taskId of newIds) {
      if (taskId <= this.#checked) continue
      const found = await client.ask({ kind: 'get', taskId })
      if (found.kind !== 'task') throw new Error(`task ${taskId} was acknowledged and is lost`)
      tasks.set(taskId, found.task as never)
    }
    const completed = new Set(this.#completed)
    for (const { taskId, leaseId, name } of this.#leases) {
      const task = tasks.get(taskId)
      if (task === undefined) continue
      const attempt = task.attempts.find((attempt) => attempt.leaseId === leaseId)
      if (attempt?.workerId !== name) throw new Error(`lease ${leaseId} was granted and is lost`)
      // The last word may not have come back: a completed task is fine, a task without a valid lease is not.
      const expected = completed.has(taskId) ? ['COMPLETED'] : ['LEASED', 'COMPLETED']
      if (!expected.includes(task.state)) throw new Error(`task ${taskId} is ${task.state}`)
    }
    await client.close()
    const highest = Math.max(0, ...newIds)
    const last = this.#submitted.at(-1) ?? 0
    if (last > highest) throw new Error('ids do not grow')
    this.#checked = highest
    return this.size
  }

  #note(record: () => void): void {
    record()
    this.#grow()
  }

  #grow(): void {
    if (this.#waiting === undefined || this.size < this.#waiting.size) return
    this.#waiting.resolve()
    this.#waiting = undefined
  }
}
