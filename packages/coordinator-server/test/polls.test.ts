import { Random } from '@tenure/testing'
import t from 'tap'
import type { Session } from '../src/core/pending-request.js'
import { noCapacity, rankOf } from '../src/decide/lease-manager.js'
import { WorkerRegistry } from '../src/decide/worker-registry.js'
import { IndexedHeap } from '../src/polls/indexed-heap.js'
import { RequestedQueues } from '../src/polls/requested-queues.js'
import { type Poll, WaitingPolls } from '../src/polls/waiting-polls.js'
import { otherWorker, World, worker } from './world.js'

// ---- which poll is served

const queues = ['a', 'b', 'c']

/** A reference model: all polls in order, and the documented choice among them. */
class Naive {
  polls: Poll[] = []
  readonly #registry: WorkerRegistry

  constructor(registry: WorkerRegistry) {
    this.#registry = registry
  }

  next(queue: string): Poll | undefined {
    let best: Poll | undefined
    let most = Number.NEGATIVE_INFINITY
    for (const poll of this.polls) {
      if (!poll.queues.includes(queue)) continue
      const { capacity = 0, leaseIds } = this.#registry.get(poll.session.name) ?? {}
      const free = capacity - (leaseIds?.size ?? 0)
      if ((capacity > 0 && free <= 0) || free <= most) continue
      best = poll
      most = free
    }
    return best
  }
}

/** Random workers poll, get leases, end them, connect, disconnect and are forgotten. */
function compare(seed: number, steps: number, workers: number): number {
  const random = new Random(seed)
  const registry = new WorkerRegistry()
  const polls = new WaitingPolls((name) => rankOf(registry.advice(name)))
  registry.watch((name) => void polls.reconsider(name))
  const naive = new Naive(registry)
  const sessions = Array.from({ length: workers }, (_, number) => ({ name: `w${number >> 1}` }))
  const held: number[] = []
  let chosen = 0
  let lastId = 0
  const remove = (poll: Poll) => {
    naive.polls = naive.polls.filter((it) => it !== poll)
    if (!polls.remove(poll) || polls.remove(poll)) throw new Error('a poll ends once')
  }
  const actions = {
    ask: () => {
      const named = queues.filter(() => random.chance(0.5))
      if (named.length === 0) return
      const poll = { queues: named, session: random.pick(sessions), id: ++lastId }
      naive.polls.push(poll)
      polls.add(poll)
    },
    grant: () => {
      const poll = polls.next(random.pick(queues))
      if (poll === undefined) return
      remove(poll)
      held.push(++lastId)
      registry.holds(poll.session.name, lastId)
      chosen++
    },
    end: () => {
      if (held.length > 0) registry.ended(held.splice(random.integer(held.length), 1)[0]!)
    },
    giveUp: () => {
      if (naive.polls.length > 0) remove(random.pick(naive.polls))
    },
    come: () => registry.connected(random.pick(sessions).name, random.integer(4), 0),
    go: () => registry.disconnected(random.pick(sessions).name),
    forget: () => {
      if (random.chance(0.02)) registry.clear()
    },
  }
  const likely = ['ask', 'ask', 'ask', 'ask', 'grant', 'grant', 'end', 'end'] as const
  for (let step = 0; step < steps; step++) {
    actions[random.pick([...likely, 'giveUp', 'come', 'go', 'forget'] as const)]()
    for (const queue of queues) {
      const [found, expected] = [polls.next(queue), naive.next(queue)]
      if (found === expected) continue
      throw new Error(`seed ${seed}, step ${step}: ${found?.id} instead of ${expected?.id}`)
    }
    const waiting = queues.map((queue) => naive.polls.filter((it) => it.queues.includes(queue)))
    const counts = queues.map((queue) => polls.count(queue))
    if (waiting.some(({ length }, index) => length !== counts[index])) throw new Error('miscounted')
    if (polls.size !== naive.polls.length) throw new Error('miscounted')
  }
  return chosen
}

t.test('the choice equals that of the reference model, whatever happens', async (t) => {
  for (let seed = 1; seed <= 60; seed++) t.ok(compare(seed, 400, 2 + (seed % 30)) > 0)
})

t.test('a poll of a full worker is not served', async (t) => {
  const ranks = new Map([
    ['full', noCapacity],
    ['unbounded', -5],
  ])
  const polls = new WaitingPolls((name) => ranks.get(name)!)
  const ask = (name: string) => {
    const poll = { queues: ['a'], session: { name }, id: 1 }
    polls.add(poll)
    return poll
  }
  ask('full')
  t.equal(polls.next('a'), undefined)
  const other = ask('unbounded')
  t.equal(polls.next('a'), other, 'a worker without a stated capacity is never full')
})

t.test('a worker is reported as having capacity again, once', async (t) => {
  const registry = new WorkerRegistry()
  const polls = new WaitingPolls((name) => rankOf(registry.advice(name)))
  registry.connected('w', 1, 0)
  registry.holds('w', 1)
  polls.add({ queues: ['a', 'b'], session: { name: 'w' }, id: 1 })
  t.equal(polls.next('a'), undefined)
  registry.ended(1)
  t.strictSame(polls.reconsider('w'), ['a', 'b'])
  t.strictSame(polls.reconsider('w'), [])
  t.strictSame(polls.reconsider('another'), [])
})

/** The maximum number of polls examined for a grant that is followed by the end of a lease and a new poll. */
function looksPerGrant(workers: number, pollsEach: number): number {
  const leases = new Array<number>(workers).fill(0)
  const polls = new WaitingPolls((name) => 100 - leases[Number(name)]!)
  let looks = 0
  const ask = (index: number, id: number) => {
    const session = { name: `${index}` }
    polls.add({
      get session() {
        looks++
        return session
      },
      queues: ['a'],
      id,
    })
  }
  for (let id = 1; id <= pollsEach; id++) leases.forEach((_, index) => void ask(index, id))
  let most = 0
  for (let grant = 0; grant < 1000; grant++) {
    looks = 0
    const poll = polls.next('a')!
    polls.remove(poll)
    const index = Number(poll.session.name)
    leases[index]!++
    polls.reconsider(`${index}`)
    const other = grant % workers
    leases[other]!--
    polls.reconsider(`${other}`)
    ask(index, pollsEach + grant)
    most = Math.max(most, looks)
  }
  return most
}

t.test('few polls are examined for a grant, however many wait', async (t) => {
  t.ok(looksPerGrant(10_000, 1) < 10, '10,000 workers with one poll each')
  t.ok(looksPerGrant(1, 10_000) < 10, 'one worker with 10,000 polls')
})

// ---- the capacity of a worker

const longPoll = { kind: 'lease', queues: ['default'], waitMs: 20_000 } as const
const leaseNow = { ...longPoll, waitMs: 0 } as const

/** A world with these tasks, in which the worker has stated this capacity. */
async function worldWith(tasks: number, capacity: number): Promise<World> {
  const world = await World.started()
  for (let count = 0; count < tasks; count++) await world.submit()
  world.coordinator.join(worker, capacity)
  return world
}

t.test('a worker is leased no more tasks than its capacity', async (t) => {
  const world = await worldWith(3, 2)
  await world.lease()
  const together = [world.send(leaseNow, worker), world.send(leaseNow, worker)]
  await world.clock.settle()
  t.match(together, [[{ kind: 'leased' }], [{ kind: 'empty' }]], 'two requests in one batch')
  t.match(await world.ask(leaseNow, worker), { kind: 'empty' })
  t.match(await world.ask(leaseNow, otherWorker), { kind: 'leased' }, 'another worker has capacity')
  await world.check()
})

t.test('the poll of a full worker gets a task when one of its leases ends', async (t) => {
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
    const waiting = world.send(longPoll, worker)
    await world.clock.settle()
    t.same(waiting, [], name)
    await end(world, { taskId, leaseId })
    await world.clock.settle()
    t.match(waiting, [{ kind: 'leased', taskId: taskId + 1 }], name)
    await world.check()
  }
})

t.test('the poll of a full worker is answered EMPTY on timeout', async (t) => {
  const world = await worldWith(2, 1)
  await world.lease()
  const waiting = world.send(longPoll, worker)
  await world.clock.advance(19_999)
  t.same(waiting, [])
  await world.clock.advance(1)
  t.match(waiting, [{ kind: 'empty' }])
})

t.test("a full worker's poll sets no alarm for eligible tasks", async (t) => {
  const world = await worldWith(2, 1)
  await world.lease()
  const delays: number[] = []
  const setTimer = world.clock.setTimer.bind(world.clock)
  world.clock.setTimer = (delayMs, callback) => {
    delays.push(delayMs)
    return setTimer(delayMs, callback)
  }
  world.send(longPoll, worker)
  t.strictSame(delays, [20_000])
})

t.test('a lease from one queue makes the worker full for all queues', async (t) => {
  const world = await worldWith(1, 1)
  await world.submit({ queue: 'mail' })
  const polls = [
    world.send({ ...longPoll, queues: ['mail'] }, worker),
    world.send(longPoll, worker),
  ]
  await world.clock.settle()
  t.match(polls, [[{ kind: 'leased', queue: 'mail' }], []])
})

for (const width of [1, 64]) {
  const place = width === 1 ? 'one slot' : `${width} slots`
  t.test(
    `a worker with ${place} continues within one batch: its report frees capacity immediately`,
    async (t) => {
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
        let answers = Array.from({ length: width }, () => world.send(longPoll, worker))
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
            if (isPollFirst) answers.push(world.send(longPoll, worker))
            world.send(report, worker)
            if (!isPollFirst) answers.push(world.send(longPoll, worker))
          }
          await world.clock.settle()
        }
        t.equal(answers.flat().length, width)
        return batches.size
      }
      t.equal(await batchesOf(0, false), 3, 'a worker that states no capacity')
      t.equal(await batchesOf(width, false), 3, 'the report, then the next request')
      t.equal(await batchesOf(width, true), 3, 'the next request, then the report')
    },
  )
}

t.test('a worker that reconnects does not wait for leases of its previous process', async (t) => {
  const world = await worldWith(3, 1)
  const { taskId, leaseId } = await world.lease()
  world.coordinator.leave(worker)
  t.match(world.registry.get('w1')?.leaseIds.size, 1, 'queries still show its leases')
  const again: Session = { name: 'w1' }
  world.coordinator.join(again, 1)
  const next = await world.lease(again)
  t.match(await world.ask(leaseNow, again), { kind: 'empty' })
  await world.ask({ kind: 'complete', taskId: next.taskId, leaseId: next.leaseId }, again)
  await world.expect('extended', { kind: 'heartbeat', taskId, leaseId }, again)
  t.match(
    await world.ask(leaseNow, again),
    { kind: 'empty' },
    'its heartbeat shows that it holds the lease',
  )
})

t.test('a grant in flight to a closed connection does not count for the next one', async (t) => {
  const world = await worldWith(2, 1)
  world.send(leaseNow, worker)
  world.coordinator.leave(worker)
  const again: Session = { name: 'w1' }
  world.coordinator.join(again, 1)
  await world.clock.settle()
  t.match(await world.ask(leaseNow, again), { kind: 'leased' })
})

t.test('a second connection under a name keeps the leases and sets the capacity', async (t) => {
  const world = await worldWith(3, 1)
  await world.lease()
  const waiting = world.send(longPoll, worker)
  const second: Session = { name: 'w1' }
  world.coordinator.join(second, 1)
  t.match(await world.ask(leaseNow, second), { kind: 'empty' })
  world.coordinator.leave(second)
  const third: Session = { name: 'w1' }
  world.coordinator.join(third, 2)
  await world.clock.settle()
  t.match(waiting, [{ kind: 'leased' }], 'there is capacity, without a new request')
  t.match(await world.ask(leaseNow, third), { kind: 'empty' })
})

t.test('capacity 0 states none: the worker is limited by its requests', async (t) => {
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
  const first = world.send(longPoll, sessions.silent)
  const second = world.send(longPoll, sessions.small)
  const third = [1, 2, 3, 4].map(() => world.send(longPoll, sessions.large))
  const served = async () => {
    await world.submit()
    return [first.length, second.length, third.flat().length]
  }
  t.strictSame(await served(), [0, 0, 1], 'three free')
  t.strictSame(await served(), [0, 0, 2], 'two free')
  t.strictSame(await served(), [0, 1, 2], 'one free each, and this one waits longer')
  t.strictSame(await served(), [0, 1, 3], 'one free')
  t.strictSame(await served(), [1, 1, 3], 'no worker with a stated capacity is free')
  t.strictSame(await served(), [1, 1, 3], 'no worker is free')
  await world.check()
})

t.test('a worker still gets leases after the registry has forgotten it', async (t) => {
  const world = await worldWith(3, 1)
  const { taskId, leaseId } = await world.lease()
  const waiting = world.send(longPoll, worker)
  world.registry.clear()
  t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker), { kind: 'extended' })
  await world.clock.settle()
  t.match(waiting, [{ kind: 'leased' }], 'with the next request of any worker')
  world.coordinator.leave(worker)
  t.match(await world.ask({ kind: 'complete', taskId, leaseId }, worker), { kind: 'committed' })
  await world.check()
})

// ---- the heap

interface Item {
  key: number
  heapIndex: number
}

t.test('the smallest item is first, whichever items are added, changed and removed', async (t) => {
  const random = new Random(7)
  const heap = new IndexedHeap<Item>((one, other) => one.key - other.key)
  const items: Item[] = []
  for (let step = 0; step < 5000; step++) {
    const item = random.chance(0.5) || items.length === 0 ? undefined : random.pick(items)
    if (item === undefined) {
      const added = { key: random.integer(50), heapIndex: 0 }
      items.push(added)
      heap.add(added)
    } else if (random.chance(0.5)) {
      item.key = random.integer(50)
      heap.update(item)
    } else {
      heap.remove(item)
      items.splice(items.indexOf(item), 1)
    }
    const least = items.length === 0 ? undefined : Math.min(...items.map(({ key }) => key))
    if (heap.first?.key !== least) throw new Error(`${heap.first?.key} is first, not ${least}`)
  }
  t.ok(items.length > 10)
})

t.test('an operation needs as many comparisons as the heap is deep', async (t) => {
  let comparisons = 0
  const heap = new IndexedHeap<Item>((one, other) => {
    comparisons++
    return one.key - other.key
  })
  const items = Array.from({ length: 10_000 }, (_, key) => ({ key, heapIndex: 0 }))
  for (const item of items) heap.add(item)
  const random = new Random(7)
  let most = 0
  for (let step = 0; step < 1000; step++) {
    comparisons = 0
    const item = random.pick(items)
    heap.remove(item)
    item.key = random.integer(10_000)
    heap.add(item)
    item.key = random.integer(10_000)
    heap.update(item)
    most = Math.max(most, comparisons)
  }
  const depth = Math.ceil(Math.log2(10_000))
  t.ok(most <= 3 * (2 * depth + 2), `${most} comparisons`)
})

// ---- queues that polls name

t.test('the last request for each queue is known', (t) => {
  const asked = new RequestedQueues()
  asked.note(['a', 'b'], 10)
  asked.note(['b', 'b'], 20)
  t.strictSame([asked.lastAt('a'), asked.lastAt('b'), asked.lastAt('c')], [10, 20, undefined])
  t.end()
})

t.test('above the limit the most recently requested queues are known', (t) => {
  const asked = new RequestedQueues(2)
  asked.note(['a'], 1)
  asked.note(['b'], 2)
  asked.note(['a'], 3)
  asked.note(['c'], 4)
  t.strictSame([asked.lastAt('a'), asked.lastAt('b'), asked.lastAt('c')], [3, undefined, 4])
  const usual = new RequestedQueues()
  for (let queue = 0; queue <= 10_000; queue++) usual.note([`${queue}`], 1)
  t.strictSame([usual.lastAt('0'), usual.lastAt('1'), usual.lastAt('10000')], [undefined, 1, 1])
  t.end()
})
