import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random } from '@tenure/testing'
import t, { type Test } from 'tap'
import { shareOpenFiles } from '../src/options/open-files.js'
import { CoordinatorProcess } from './coordinator-process.js'
import { PeerClient } from './peer-client.js'

// ---- few descriptors

const openFilesMax = 256

t.test('descriptors are divided, and enough remain for other uses', async (t) => {
  for (const max of [128, 256, 1024, 4096, 65_536]) {
    const { connections, refused, http } = shareOpenFiles(max)
    for (const share of [connections, refused, http]) t.ok(share >= 1)
    t.ok(connections > refused + http, 'most are for clients')
    t.ok(connections + refused + http <= Math.max(max - 200, 8), `of ${max}`)
  }
  t.same(shareOpenFiles(Number.POSITIVE_INFINITY), {
    connections: Number.POSITIVE_INFINITY,
    refused: 100,
    http: 64,
  })
})

async function connectMany(t: Test, port: number, count: number): Promise<void> {
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let n = 0; n < count; n++) {
    const socket = connect(port, '127.0.0.1').resume()
    socket.on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
  }
}

const skip = process.platform !== 'linux' && 'only Linux has these limits'

async function start(t: Test): Promise<CoordinatorProcess> {
  const options = { openFilesMax, segmentBytes: 2 ** 20 }
  const coordinator = await CoordinatorProcess.start(t.testdir(), options)
  t.teardown(() => coordinator.kill())
  return coordinator
}

/** Fills ten segments of the log. */
async function submitMuch(t: Test, client: PeerClient): Promise<void> {
  const payload = Buffer.alloc(250 * 1024)
  for (let count = 0; count < 40; count++) {
    t.match(await client.ask({ kind: 'submit', payload }), { kind: 'submitted' })
  }
}

const history = { kind: 'history', taskId: 1, fromLsn: 1 } as const

t.test('more idle connections than descriptors stop nothing', { skip }, async (t) => {
  const coordinator = await start(t)
  const { pid, port, httpPort } = coordinator
  const client = await PeerClient.open(port)
  await connectMany(t, port, 2 * openFilesMax)
  await connectMany(t, httpPort, 2 * openFilesMax)
  t.ok(readdirSync(`/proc/${pid}/fd`).length < openFilesMax, 'the log has some left')
  await submitMuch(t, client)
  t.match(await client.ask({ kind: 'checkpoint' }), { kind: 'checkpointed' })
  t.match(await client.ask(history), { kind: 'history' })
  const metrics = await fetch(`http://127.0.0.1:${httpPort}/metrics`)
  t.match(await metrics.text(), /^tenure_tasks_created_total 40$/m)
  t.equal(await coordinator.stop(), 0)
})

t.test('without free descriptors, tasks are still accepted', { skip }, async (t) => {
  const coordinator = await start(t)
  const { port, httpPort } = coordinator
  const client = await PeerClient.open(port)
  await coordinator.takeDescriptors()
  // The connections cannot be accepted, and they are not kept waiting either.
  await Promise.all([port, httpPort].map((to) => untilRefused(to)))
  await submitMuch(t, client)
  t.match(await client.ask({ kind: 'checkpoint' }), { kind: 'rejected' })
  t.match(await client.ask(history), { kind: 'rejected', reason: 'INTERNAL' })
  await submitMuch(t, client)
  t.equal(await coordinator.stop(), 0)
})

async function untilRefused(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').resume()
  socket.on('error', () => {})
  await once(socket, 'close')
}

// ---- SIGKILL

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

/** The acknowledged facts, and callbacks for further ones. */
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

  /** Submits, leases and completes every other task, until the connection breaks. */
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

  /** Everything of the last round exists, and each of its unreported leases is still valid. */
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
      // The last answer may be lost: a completed task is correct, a task without a valid lease is not.
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
