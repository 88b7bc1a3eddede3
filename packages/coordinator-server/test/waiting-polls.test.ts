import { Random } from '@tenure/testing'
import t from 'tap'
import { noRoom, rankOf } from '../src/decide/lease-manager.js'
import { WorkerRegistry } from '../src/decide/worker-registry.js'
import { type Poll, WaitingPolls } from '../src/polls/waiting-polls.js'

const queues = ['a', 'b', 'c']

/** The polls in their order, and the choice among them as the documents tell it. */
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

/** Random workers ask, are leased tasks, end them, come, go and are forgotten. */
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

t.test('the choice is that of a look at every poll, whatever happens', async (t) => {
  for (let seed = 1; seed <= 60; seed++) t.ok(compare(seed, 400, 2 + (seed % 30)) > 0)
})

t.test('a poll of a worker without room is not served', async (t) => {
  const ranks = new Map([
    ['full', noRoom],
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
  t.equal(polls.next('a'), other, 'a worker that states no capacity has room whatever it holds')
})

t.test('a worker is told to have room when it has some again, once', async (t) => {
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

/** The most polls that are looked at for a grant, with a lease that ends and a new poll behind it. */
function looksPerGrant(workers: number, pollsEach: number): number {
  const leases = new Array<number>(workers).fill(0)
  const polls = new WaitingPolls((name) => 100 - leases[Number(name)]!)
  let looks = 0
  const ask = (worker: number, id: number) => {
    const session = { name: `${worker}` }
    polls.add({
      get session() {
        looks++
        return session
      },
      ...{ queues: ['a'], id },
    })
  }
  for (let id = 1; id <= pollsEach; id++) leases.forEach((_, worker) => void ask(worker, id))
  let most = 0
  for (let grant = 0; grant < 1000; grant++) {
    looks = 0
    const poll = polls.next('a')!
    polls.remove(poll)
    const worker = Number(poll.session.name)
    leases[worker]!++
    polls.reconsider(`${worker}`)
    const other = grant % workers
    leases[other]!--
    polls.reconsider(`${other}`)
    ask(worker, pollsEach + grant)
    most = Math.max(most, looks)
  }
  return most
}

t.test('however many polls wait, few of them are looked at for a grant', async (t) => {
  t.ok(looksPerGrant(10_000, 1) < 10, '10,000 workers with one poll each')
  t.ok(looksPerGrant(1, 10_000) < 10, 'one worker with 10,000 polls')
})
