import t from 'tap'
import type { Session } from '../src/core/pending-request.js'
import { otherWorker, World, worker } from './world.js'

const poll = { kind: 'lease', queues: ['default'], waitMs: 20_000 } as const
const lease = { ...poll, waitMs: 0 } as const

/** A world with these tasks, in which the worker has said how many it runs at once. */
async function worldWith(tasks: number, capacity: number): Promise<World> {
  const world = await World.started()
  for (let count = 0; count < tasks; count++) await world.submit()
  world.coordinator.join(worker, capacity)
  return world
}

t.test('a worker is leased no more tasks than its capacity', async (t) => {
  const world = await worldWith(3, 2)
  await world.lease()
  const together = [world.send(lease, worker), world.send(lease, worker)]
  await world.clock.settle()
  t.match(together, [[{ kind: 'leased' }], [{ kind: 'empty' }]], 'two requests in one batch')
  t.match(await world.ask(lease, worker), { kind: 'empty' })
  t.match(await world.ask(lease, otherWorker), { kind: 'leased' }, 'another worker has room')
  await world.check()
})

t.test('the poll of a full worker gets a task as soon as a lease of the worker ends', async (t) => {
  const ends = {
    'by a result': (world: World, lease: { taskId: number; leaseId: number }) =>
      world.send({ kind: 'complete', ...lease }, worker),
    'by a failure': (world: World, lease: { taskId: number; leaseId: number }) =>
      world.send({ kind: 'fail', ...lease, reason: '' }, worker),
    'by a kill': (world: World, { taskId }: { taskId: number }) =>
      world.send({ kind: 'kill', taskId, reason: '' }),
    'by its expiry': (world: World) => world.clock.advance(30_000),
  }
  for (const [name, end] of Object.entries(ends)) {
    const world = await worldWith(2, 1)
    const { taskId, leaseId } = await world.lease()
    await world.clock.advance(15_000)
    const waiting = world.send(poll, worker)
    await world.clock.settle()
    t.same(waiting, [], name)
    await end(world, { taskId, leaseId })
    await world.clock.settle()
    t.match(waiting, [{ kind: 'leased', taskId: taskId + 1 }], name)
    await world.check()
  }
})

t.test('the poll of a full worker is answered empty when its wait is over', async (t) => {
  const world = await worldWith(2, 1)
  await world.lease()
  const waiting = world.send(poll, worker)
  await world.clock.advance(19_999)
  t.same(waiting, [])
  await world.clock.advance(1)
  t.match(waiting, [{ kind: 'empty' }])
})

t.test('a full worker that waits sets no alarm for tasks that are eligible', async (t) => {
  const world = await worldWith(2, 1)
  await world.lease()
  const delays: number[] = []
  const setTimer = world.clock.setTimer.bind(world.clock)
  world.clock.setTimer = (delayMs, callback) => {
    delays.push(delayMs)
    return setTimer(delayMs, callback)
  }
  world.send(poll, worker)
  t.strictSame(delays, [20_000])
})

t.test('a lease that goes to another queue leaves the worker full for all of them', async (t) => {
  const world = await worldWith(1, 1)
  await world.submit({ queue: 'mail' })
  const polls = [world.send({ ...poll, queues: ['mail'] }, worker), world.send(poll, worker)]
  await world.clock.settle()
  t.match(polls, [[{ kind: 'leased', queue: 'mail' }], []])
})

for (const width of [1, 64]) {
  const place = width === 1 ? 'one slot' : `${width} slots`
  t.test(`a worker with ${place} lives on one batch: its report makes room at once`, async (t) => {
    const batchesOf = async (capacity: number, isPollFirst: boolean) => {
      const world = new World()
      const batches = new Set<Promise<number>>()
      world.alterLog = (log) => {
        const append = log.append.bind(log)
        log.append = (...record) => {
          const batch = append(...record)
          batches.add(batch)
          return batch
        }
      }
      await world.start()
      for (let count = 0; count < 4 * width; count++) await world.submit()
      world.coordinator.join(worker, capacity)
      let answers = Array.from({ length: width }, () => world.send(poll, worker))
      await world.clock.settle()
      batches.clear()
      for (let life = 0; life < 3; life++) {
        const reports = answers.flat().map((answer) => {
          if (answer.kind !== 'leased') throw new Error(`a poll is answered ${answer.kind}`)
          const { taskId, leaseId } = answer
          return { kind: 'complete', taskId, leaseId } as const
        })
        answers = []
        for (const report of reports) {
          if (isPollFirst) answers.push(world.send(poll, worker))
          world.send(report, worker)
          if (!isPollFirst) answers.push(world.send(poll, worker))
        }
        await world.clock.settle()
      }
      t.equal(answers.flat().length, width)
      return batches.size
    }
    t.equal(await batchesOf(0, false), 3, 'a worker that states no capacity')
    t.equal(await batchesOf(width, false), 3, 'the report, then the next request')
    t.equal(await batchesOf(width, true), 3, 'the next request, then the report')
  })
}

t.test('a worker that comes back does not wait for leases of the process before it', async (t) => {
  const world = await worldWith(3, 1)
  const { taskId, leaseId } = await world.lease()
  world.coordinator.leave(worker)
  t.match(world.registry.get('w1')?.leaseIds.size, 1, 'people still see what it held')
  const again: Session = { name: 'w1' }
  world.coordinator.join(again, 1)
  const next = await world.lease(again)
  t.match(await world.ask(lease, again), { kind: 'empty' })
  await world.ask({ kind: 'complete', taskId: next.taskId, leaseId: next.leaseId }, again)
  await world.expect('extended', { kind: 'heartbeat', taskId, leaseId }, again)
  t.match(await world.ask(lease, again), { kind: 'empty' }, 'it does hold it, its heartbeat says')
})

t.test('a grant on its way to a connection that ended does not count for the next', async (t) => {
  const world = await worldWith(2, 1)
  world.send(lease, worker)
  world.coordinator.leave(worker)
  const again: Session = { name: 'w1' }
  world.coordinator.join(again, 1)
  await world.clock.settle()
  t.match(await world.ask(lease, again), { kind: 'leased' })
})

t.test('a second connection of a name keeps what is held, and sets the capacity', async (t) => {
  const world = await worldWith(3, 1)
  await world.lease()
  const waiting = world.send(poll, worker)
  const second: Session = { name: 'w1' }
  world.coordinator.join(second, 1)
  t.match(await world.ask(lease, second), { kind: 'empty' })
  world.coordinator.leave(second)
  const third: Session = { name: 'w1' }
  world.coordinator.join(third, 2)
  await world.clock.settle()
  t.match(waiting, [{ kind: 'leased' }], 'there is room, and nobody had to ask')
  t.match(await world.ask(lease, third), { kind: 'empty' })
})

t.test('capacity 0 states none: such a worker is bounded by what it asks for', async (t) => {
  const world = await worldWith(3, 0)
  for (let count = 0; count < 3; count++) await world.lease()
  t.strictSame(world.registry.advice('w1'), { capacity: 0, leases: 3 })
})

t.test('waiting polls are served by free capacity, then by waiting time', async (t) => {
  const world = await World.started()
  const sessions = { silent: { name: 'silent' }, small: { name: 's' }, large: { name: 'l' } }
  world.coordinator.join(sessions.silent, 0)
  world.coordinator.join(sessions.small, 1)
  world.coordinator.join(sessions.large, 3)
  const first = world.send(poll, sessions.silent)
  const second = world.send(poll, sessions.small)
  const third = [1, 2, 3, 4].map(() => world.send(poll, sessions.large))
  const served = async () => {
    await world.submit()
    return [first.length, second.length, third.flat().length]
  }
  t.strictSame(await served(), [0, 0, 1], 'three free')
  t.strictSame(await served(), [0, 0, 2], 'two free')
  t.strictSame(await served(), [0, 1, 2], 'one free each, and it waits longer')
  t.strictSame(await served(), [0, 1, 3], 'one free')
  t.strictSame(await served(), [1, 1, 3], 'none who states a capacity has room')
  t.strictSame(await served(), [1, 1, 3], 'nobody has room')
  await world.check()
})

t.test('a worker is leased what it asks for when the registry has forgotten it', async (t) => {
  const world = await worldWith(3, 1)
  const { taskId, leaseId } = await world.lease()
  const waiting = world.send(poll, worker)
  world.registry.clear()
  t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker), { kind: 'extended' })
  await world.clock.settle()
  t.match(waiting, [{ kind: 'leased' }], 'with the next request of anybody')
  world.coordinator.leave(worker)
  t.match(await world.ask({ kind: 'complete', taskId, leaseId }, worker), { kind: 'committed' })
  await world.check()
})
