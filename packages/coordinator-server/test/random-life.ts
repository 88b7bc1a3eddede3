import { Random } from '@tenure/testing'
import { otherWorker, World, worker } from './world.js'

/**
 * Runs a coordinator through this many random steps: tasks take every possible course, are forgotten, and the
 * coordinator restarts now and then.
 */
export async function liveThrough(seed: number, steps: number): Promise<World> {
  const random = new Random(seed)
  const world = await World.started({ retentionMs: 200_000, poisonThreshold: 3 })
  const leases: { taskId: number; leaseId: number }[] = []
  const backoff = { kind: 'fixed', delayMs: 5000 } as const
  const actions = {
    submit: () => world.submit({ retryPolicy: { maxRetries: random.integer(3), backoff } }),
    lease: async () => {
      const by = random.pick([worker, otherWorker])
      const answer = await world.ask({ kind: 'lease', queues: ['default'], waitMs: 0 }, by)
      if (answer.kind === 'leased') leases.push(answer)
    },
    heartbeat: () => ask('heartbeat'),
    complete: () => ask('complete'),
    fail: () => ask('fail'),
    kill: async () => {
      if (random.chance(0.3)) await ask('kill')
    },
    wait: () => world.clock.advance(random.pick([1000, 20_000, 40_000])),
    tidy: async () => {
      world.coordinator.tidy()
      await world.clock.settle()
    },
    restart: async () => {
      if (random.chance(0.9)) return
      await world.stop()
      await world.start()
    },
  }
  /** A request about one of the last leases, from its worker or another one. */
  async function ask(kind: 'heartbeat' | 'complete' | 'fail' | 'kill'): Promise<void> {
    const lease = leases.at(-1 - random.integer(Math.max(1, Math.min(4, leases.length))))
    if (lease === undefined) return
    const { taskId, leaseId } = lease
    const by = random.pick([worker, otherWorker])
    await world.ask({ kind, taskId, leaseId, reason: 'because' } as never, by)
  }
  for (let step = 0; step < steps; step++) await random.pick(Object.values(actions))()
  return world
}
