import t from 'tap'
import type { WorkerOptions } from '../src/index.js'
import type { Asked } from './scripted-coordinator.js'
import { leaseMs, World, windowMs } from './world.js'

// A second coordinator takes over the leases of the first one.

const endpoints = ['coordinator:7411', 'other:7411']
/** The longest pause between two rounds of connection attempts. */
const pauseMsMax = 1000

/** The leases that both coordinators know, as from one replicated log. */
class SharedLeases {
  readonly #world: World
  readonly #expiryMs = new Map<number, number>()
  readonly #reports = new Map<number, string | undefined>()
  #grants = 0
  #ungranted: number
  /** Reports and heartbeats that came too late. */
  late = 0

  constructor(world: World, tasks: number) {
    this.#world = world
    this.#ungranted = tasks
    world.coordinator.script = (asked) => this.#answer(asked)
    world.other.script = (asked) => this.#answer(asked)
  }

  get committed(): number {
    return this.#reports.size
  }

  #answer(asked: Asked): boolean {
    const { request } = asked
    if (request.kind === 'lease') return this.#grant(asked)
    if (request.kind === 'heartbeat') this.#extend(asked, request.leaseId)
    else if (request.kind === 'complete') this.#commit(asked, request.leaseId, request.reportId)
    else return false
    return true
  }

  #grant(asked: Asked): boolean {
    if (this.#ungranted === 0) return false
    this.#ungranted--
    const [taskId, attempt, queue] = [++this.#grants, 1, 'default']
    const payload = Buffer.from(`task ${taskId}`)
    const leaseId = 100 + taskId
    asked.answer({
      kind: 'leased',
      taskId,
      leaseId,
      attempt,
      queue,
      payload,
      ...this.#terms(leaseId),
    })
    return true
  }

  #extend(asked: Asked, leaseId: number): void {
    if (this.#isOver(leaseId)) asked.reject('EXPIRED')
    else asked.answer({ kind: 'extended', ...this.#terms(leaseId) })
  }

  #commit(asked: Asked, leaseId: number, reportId: string | undefined): void {
    const isKnown = this.#reports.has(leaseId)
    if (isKnown && this.#reports.get(leaseId) !== reportId) asked.reject('DUPLICATE_REPORT')
    else if (!isKnown && this.#isOver(leaseId))
      asked.answer({ kind: 'cancelled', reason: 'EXPIRED' })
    else {
      this.#reports.set(leaseId, reportId)
      asked.answer({ kind: 'committed', state: 'COMPLETED' })
    }
  }

  #isOver(leaseId: number): boolean {
    const isOver = (this.#expiryMs.get(leaseId) ?? 0) <= this.#world.now
    if (isOver) this.late++
    return isOver
  }

  #terms(leaseId: number) {
    const now = this.#world.clock.now()
    this.#expiryMs.set(leaseId, this.#world.now + leaseMs)
    const ends = { leaseExpiry: now + leaseMs, windowEnd: now + windowMs }
    return { ...ends, heldMs: 0, leaseMs, windowMs }
  }
}

async function start(tasks: number, options: Partial<WorkerOptions> = {}) {
  let ids = 0
  // The longest pauses.
  const random = { next: () => 0.999, id: () => `id-${++ids}` }
  const world = await World.create({ endpoints, random, concurrency: tasks, ...options })
  world.other.refusal = 'NOT_ACTIVE'
  world.other.active = endpoints[0]
  const leases = new SharedLeases(world, tasks)
  // The first polls arrived before the leases existed.
  await world.cut()
  await world.advance(pauseMsMax)
  return { world, leases }
}

t.test('a worker follows its coordinator to the next one, and its leases go on', async (t) => {
  const { world, leases } = await start(3)
  await using _ = world
  t.equal(world.isolation.running.length, 3)
  await world.advance(leaseMs)
  world.other.takeOver()
  world.coordinator.stepDown(endpoints[1])
  await world.rest()
  t.equal(world.worker.isConnected, true, 'without a pause')
  t.equal(world.other.hellos.length, 1)
  await world.advance(2 * leaseMs)
  for (const run of world.isolation.running) run.returns('done')
  await world.rest()
  t.strictSame([leases.committed, leases.late], [3, 0])
  t.strictSame(world.words('leaseLost'), [])
  t.ok(world.other.all('heartbeat').length > 0)
  t.equal(world.other.reports.length, 3)
})

/** How the first coordinator ends. */
const ends = {
  'steps down': (world: World) => world.coordinator.stepDown(),
  dies: async (world: World) => {
    world.coordinator.isDown = true
    await world.cut()
  },
}

/** Lets a task run over a take-over that begins `phaseMs` after a heartbeat was answered. */
async function takeOver(end: keyof typeof ends, phaseMs: number, forMs: number) {
  const { world, leases } = await start(1)
  while (world.coordinator.all('heartbeat').length === 0) await world.advance(1)
  await world.advance(phaseMs)
  await ends[end](world)
  await world.advance(forMs)
  world.other.takeOver()
  await world.advance(pauseMsMax)
  const wasConnected = world.worker.isConnected
  await world.advance(leaseMs)
  const [run] = world.isolation.runs
  if (run?.isGone === false) run.returns('done')
  await world.rest()
  return { world, leases, wasConnected }
}

for (const end of ['steps down', 'dies'] as const) {
  t.test(`a take-over within two thirds of the lease loses no lease: it ${end}`, async (t) => {
    // A heartbeat is due each third of the lease: just before it, two thirds are left.
    const justBefore = leaseMs / 3 - 1
    for (const phaseMs of [0, 1, leaseMs / 6, justBefore]) {
      for (const forMs of [0, 1, leaseMs / 3, (2 * leaseMs) / 3 - pauseMsMax - 3]) {
        const { world, leases, wasConnected } = await takeOver(end, phaseMs, forMs)
        await using _ = world
        t.equal(wasConnected, true)
        t.strictSame(
          [world.words('leaseLost'), world.isolation.runs[0]?.abortCodes],
          [[], []],
          `${forMs} ms, ${phaseMs} ms after a heartbeat`,
        )
        t.strictSame([leases.committed, leases.late], [1, 0])
      }
    }
  })

  t.test(`a take-over that is longer may lose the lease: it ${end}`, async (t) => {
    const { world, leases } = await takeOver(end, leaseMs / 3 - 1, (2 * leaseMs) / 3 + 1)
    await using _ = world
    t.strictSame(world.words('leaseLost'), ['DEADLINE'])
    t.equal(leases.committed, 0)
  })
}

t.test('a result during a take-over is reported to the next coordinator, once', async (t) => {
  const { world, leases } = await start(1)
  await using _ = world
  world.coordinator.isDown = true
  await world.cut()
  world.isolation.runs[0]?.returns('done')
  await world.advance(leaseMs / 2)
  t.strictSame(world.words('unreported'), [])
  world.other.takeOver()
  await world.advance(pauseMsMax)
  t.equal(leases.committed, 1)
  t.equal(world.other.reports.length, 1)
  t.equal(world.calls('committed').length, 1)
})

t.test(
  'a report that the first coordinator wrote but did not answer is known to the next',
  async (t) => {
    const { world, leases } = await start(1)
    await using _ = world
    const { script } = world.coordinator
    world.coordinator.script = (asked) => {
      const isTaken = script(asked)
      if (asked.request.kind !== 'complete') return isTaken
      world.other.takeOver()
      // The answer is lost on its way.
      world.coordinator.isDown = true
      world.network.breakAll()
      return isTaken
    }
    world.isolation.runs[0]?.returns('done')
    await world.advance(pauseMsMax)
    t.equal(leases.committed, 1)
    t.equal(world.calls('committed').length, 1)
    const [one, other] = [world.coordinator.reports[0], world.other.reports[0]]
    t.equal(one?.reportId, other?.reportId)
  },
)

t.test('a worker that finds another log fails, and reports nothing to it', async (t) => {
  const { world } = await start(1)
  await using _ = world
  world.other.log = 'cd'.repeat(16)
  world.other.takeOver()
  world.coordinator.stepDown(endpoints[1])
  await world.rest()
  t.equal(world.worker.mode, 'draining')
  const [error] = world.calls('failed')[0] as [Error]
  t.match(error, { code: 'WORKER_OTHER_LOG', cause: { code: 'CLIENT_OTHER_LOG' } })
  t.match(error.message, 'cd'.repeat(16))
  world.isolation.runs[0]?.returns('done')
  await world.stop()
  t.equal(world.other.asked.length, 0)
  t.equal(world.other.hellos.length, 1)
  await t.rejects(world.worker.ended, { code: 'WORKER_OTHER_LOG' })
})
