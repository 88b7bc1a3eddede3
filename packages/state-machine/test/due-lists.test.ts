import {
  checkInvariants,
  countTasks,
  endedTasks,
  getTask,
  hashState,
  leasedTasks,
  nextEligible,
  nextEligibleAt,
  nextExpiry,
  waitingTasks,
} from '@tenure/state-machine'
import {
  countAhead,
  expiredInARow,
  forgettableThrough,
  longestQueues,
  release,
  withhold,
} from '@tenure/state-machine/internal'
import t from 'tap'
import { World } from './world.js'

t.test('eligible tasks are leased by (eligible_at, task_id), across the requested queues', (t) => {
  const world = new World()
  const a1 = world.create({ queue: 'a' })
  const b1 = world.create({ queue: 'b' })
  world.at += 10
  const a2 = world.create({ queue: 'a' })
  const late = world.create({ queue: 'b', notBefore: world.at + 100 })
  t.equal(nextEligible(world.state, ['a', 'b'], world.at), a1)
  t.equal(nextEligible(world.state, ['b', 'a'], world.at), a1)
  t.equal(nextEligible(world.state, ['b'], world.at), b1)
  t.equal(nextEligible(world.state, ['c'], world.at), undefined)
  world.grant(a1)
  world.grant(b1)
  t.equal(nextEligible(world.state, ['a', 'b'], world.at), a2)
  t.equal(nextEligible(world.state, ['b'], world.at), undefined)
  t.equal(nextEligibleAt(world.state, 'b'), world.at + 100)
  t.equal(nextEligibleAt(world.state, 'c'), undefined)
  t.equal(nextEligible(world.state, ['b'], world.at + 100), late)
  t.end()
})

t.test('a task that waits again is ordered by when it became eligible', (t) => {
  const world = new World()
  const { taskId: old } = world.leased()
  world.at += 10_000
  const young = world.create()
  world.expire(old)
  t.strictSame(
    [...waitingTasks(world.state, 'default')],
    [old, young],
    'the same time: the older id first',
  )
  const { taskId: failed } = world.leased()
  world.fail(failed)
  const last = world.create()
  t.strictSame([...waitingTasks(world.state, 'default')], [old, young, last, failed])
  t.end()
})

t.test('countAhead counts the earlier tasks of the same queue, up to a limit', (t) => {
  const world = new World()
  const [first, second] = [world.create(), world.create()]
  world.create({ queue: 'other' })
  const late = world.create({ notBefore: world.at + 100 })
  const third = world.create()
  const leased = world.leased({ queue: 'other' }).taskId
  const ahead = (taskId: number, limit = 10) => countAhead(world.state, taskId, limit)
  t.strictSame(ahead(first), { count: 0, isMore: false })
  t.strictSame(ahead(third), { count: 2, isMore: false })
  t.strictSame(ahead(late), { count: 3, isMore: false }, 'a task with a start time is in the heap')
  t.strictSame(ahead(late, 2), { count: 2, isMore: true })
  t.strictSame(ahead(late, 3), { count: 3, isMore: false })
  t.strictSame([ahead(leased), ahead(999)], [undefined, undefined])
  for (const taskId of [first, second]) withhold(world.state, taskId)
  t.strictSame(ahead(third), { count: 0, isMore: false }, 'those before it are withheld')
  t.strictSame(ahead(second), { count: 0, isMore: false }, 'a withheld task itself')
  release(world.state, first)
  t.strictSame(ahead(second), { count: 1, isMore: false })
  t.end()
})

t.test('a position in a long due list is found without a walk over all of it', (t) => {
  const world = new World()
  for (let i = 0; i < 1000; i++) {
    world.create({ notBefore: world.at + 1000 - i })
    world.create()
  }
  const { tasks } = world.state.authoritative
  let looks = 0
  const get = tasks.due.get.bind(tasks.due)
  tasks.due.get = (row) => {
    looks++
    return get(row)
  }
  const last = waitingTasks(world.state, 'default').at(-1)!
  looks = 0
  t.strictSame(countAhead(world.state, last, 10), { count: 10, isMore: true })
  t.ok(looks <= 2 * 50, `${looks} looks at a task`)
  t.end()
})

t.test('longestQueues sorts by length and looks at a bounded number of queues', (t) => {
  const world = new World()
  for (const queue of ['b', 'a', 'b', 'c', 'c', 'c', 'd']) world.create({ queue })
  world.kill(world.create({ queue: 'ended' }))
  const longest = (limit: number, lookAtMax = 10) =>
    longestQueues(world.state, { limit, lookAtMax }).map(
      ({ queue, waiting, firstEligibleAt }) => `${queue}: ${waiting} from ${firstEligibleAt}`,
    )
  const { at } = world
  const all = [`c: 3 from ${at}`, `b: 2 from ${at}`, `a: 1 from ${at}`, `d: 1 from ${at}`]
  t.strictSame(longest(10), [...all, 'ended: 0 from undefined'])
  t.strictSame(longest(2), all.slice(0, 2))
  t.strictSame(longest(3, 2), [`b: 2 from ${at}`, `a: 1 from ${at}`])
  t.strictSame(longest(3, 4), all.slice(0, 3))
  t.strictSame(longestQueues(new World().state, { limit: 1, lookAtMax: 1 }), [])
  t.end()
})

t.test('nextExpiry returns the lease that expires first', (t) => {
  const world = new World()
  t.equal(nextExpiry(world.state), undefined)
  const long = world.leased()
  const short = world.create()
  const shortLease = world.grant(short, { leaseExpiry: world.at + 1000 })
  t.strictSame(nextExpiry(world.state), { leaseId: shortLease, at: 1_001_000 })
  world.extend(shortLease, world.at + 20_000)
  t.strictSame(nextExpiry(world.state), { leaseId: long.leaseId, at: 1_010_000 })
  t.strictSame([...leasedTasks(world.state)], [long.taskId, short])
  t.end()
})

t.test('tasks are counted by state, and terminal ones are in the order of their end', (t) => {
  const world = new World()
  const tasks = [1, 2, 3].map(() => world.leased().taskId)
  world.create()
  world.complete(tasks[2] ?? 0)
  world.kill(tasks[0] ?? 0)
  t.strictSame(countTasks(world.state), { waiting: 1, leased: 1, ended: 2, bytes: 3 * 4 + 7 })
  t.strictSame([...endedTasks(world.state)], [tasks[2], tasks[0]])
  t.end()
})

t.test('a withheld task is not offered and does not expire until it is released', (t) => {
  const world = new World()
  const [first, second] = [world.create(), world.create()]
  const leased = world.leased()
  const hash = hashState(world.state)
  for (const taskId of [first, first, leased.taskId, 999]) withhold(world.state, taskId)
  t.equal(nextEligible(world.state, ['default'], world.at), second)
  t.equal(nextExpiry(world.state), undefined)
  t.equal(hashState(world.state), hash)
  checkInvariants(world.state)
  for (const taskId of [first, first, leased.taskId, 999]) release(world.state, taskId)
  t.equal(nextEligible(world.state, ['default'], world.at), first)
  t.strictSame(nextExpiry(world.state), { leaseId: leased.leaseId, at: world.at + 10_000 })
  checkInvariants(world.state)
  t.end()
})

t.test('a record applies to a withheld task as to any other', (t) => {
  const world = new World()
  const [granted, killed] = [world.create(), world.create()]
  const [extended, completed, expired] = [world.leased(), world.leased(), world.leased()]
  const tasks = [granted, killed, extended.taskId, completed.taskId, expired.taskId]
  for (const taskId of tasks) withhold(world.state, taskId)
  const grantedLease = world.grant(granted)
  world.kill(killed)
  world.extend(extended.leaseId, world.at + 20_000)
  world.complete(completed.taskId)
  world.expire(expired.taskId)
  checkInvariants(world.state)
  for (const taskId of tasks) release(world.state, taskId)
  checkInvariants(world.state)
  t.strictSame([...leasedTasks(world.state)], [granted, extended.taskId])
  t.strictSame([...endedTasks(world.state)], [killed, completed.taskId])
  t.strictSame([...waitingTasks(world.state, 'default')], [expired.taskId])
  const { leased: leases, ended, waiting } = world.state.derived
  t.strictSame([leases.size, ended.size, waiting[1]?.size], [2, 2, 1])
  t.equal(nextExpiry(world.state)?.leaseId, grantedLease)
  t.equal(nextEligible(world.state, ['default'], world.at), expired.taskId)
  world.forget(world.nextLsn - 1)
  checkInvariants(world.state)
  t.end()
})

t.test('forgettableThrough removes by age and by number, up to a limit', (t) => {
  const world = new World()
  const ends = [0, 0, 10, 20, 30].map((after) => {
    const taskId = world.create()
    world.at += after
    return world.kill(taskId)
  })
  const start = world.at - 60
  const through = (endedUntil: number, keep: number, limit: number) =>
    forgettableThrough(world.state, { endedUntil: start + endedUntil, keep, limit })
  t.equal(through(-1, 5, 100), undefined)
  t.equal(through(0, 5, 100), ends[1])
  t.equal(through(10, 5, 100), ends[2])
  t.equal(through(-1, 2, 100), ends[2])
  t.equal(through(-1, 0, 100), ends[4])
  t.equal(through(60, 5, 2), ends[1])
  t.equal(forgettableThrough(new World().state, { endedUntil: 1, keep: 0, limit: 1 }), undefined)
  t.end()
})

t.test('records can be applied during an iteration over tasks', (t) => {
  const world = new World()
  const tasks = [1, 2, 3, 4].map(() => world.leased().taskId)
  for (const taskId of leasedTasks(world.state)) world.expire(taskId)
  t.strictSame(leasedTasks(world.state), [])
  t.strictSame(waitingTasks(world.state, 'default'), tasks)
  for (const taskId of waitingTasks(world.state, 'default')) {
    world.grant(taskId)
    world.fail(taskId)
  }
  t.strictSame(waitingTasks(world.state, 'default'), tasks)
  world.at += 500
  for (const taskId of waitingTasks(world.state, 'default')) {
    world.grant(taskId)
    world.complete(taskId)
  }
  for (const taskId of endedTasks(world.state)) {
    if (getTask(world.state, taskId) !== undefined) world.forget(world.nextLsn - 1)
  }
  t.strictSame([endedTasks(world.state), waitingTasks(world.state, 'none')], [[], []])
  t.end()
})

t.test('forgettableThrough does not walk over the whole due list', (t) => {
  const world = new World()
  for (let i = 0; i < 1000; i++) world.kill(world.create())
  const { tasks } = world.state.authoritative
  let looks = 0
  const get = tasks.due.get.bind(tasks.due)
  tasks.due.get = (row) => {
    looks++
    return get(row)
  }
  const through = forgettableThrough(world.state, { endedUntil: world.at, keep: 0, limit: 10 })
  t.equal(through, 20)
  t.ok(looks <= 20, `${looks} looks at a task`)
  t.end()
})

t.test('a task that ends while withheld keeps its place among the ended tasks', (t) => {
  const world = new World()
  const tasks = [1, 2, 3].map(() => world.leased().taskId)
  for (const taskId of tasks) withhold(world.state, taskId)
  for (const taskId of tasks) world.complete(taskId)
  for (const taskId of tasks) release(world.state, taskId)
  t.equal(world.state.derived.ended.heaped, 0)
  t.strictSame(endedTasks(world.state), tasks)
  checkInvariants(world.state)
  t.end()
})

t.test('forgetting a withheld task does not withhold the next task in its row', (t) => {
  const world = new World()
  const { byLsn, withheld } = world.state.derived
  const first = world.create()
  const row = byLsn.get(first)
  withhold(world.state, first)
  world.kill(first)
  world.forget(world.nextLsn - 1)
  t.equal(withheld.size, 0)
  release(world.state, first)

  const second = world.create()
  t.equal(byLsn.get(second), row)
  withhold(world.state, second)
  t.equal(nextEligible(world.state, ['default'], world.at), undefined)
  release(world.state, second)
  t.equal(nextEligible(world.state, ['default'], world.at), second)
  checkInvariants(world.state)
  t.end()
})

t.test('an ended task cannot be withheld, so it can be forgotten', (t) => {
  const world = new World()
  const taskId = world.create()
  world.kill(taskId)
  withhold(world.state, taskId)
  t.strictSame(endedTasks(world.state), [taskId])
  t.equal(world.state.derived.withheld.size, 0)
  world.forget(world.nextLsn - 1)
  t.equal(getTask(world.state, taskId), undefined)
  t.end()
})

t.test('a queue is removed when its last task is forgotten', (t) => {
  const world = new World()
  const lines = () => world.state.derived.waiting.filter((line) => line !== undefined).length
  for (let i = 0; i < 100; i++) world.create({ queue: `queue ${i}` })
  t.equal(lines(), 100)
  for (let i = 1; i <= 100; i++) world.kill(i)
  t.equal(lines(), 100, 'their tasks still name them')
  world.forget(world.nextLsn - 1)
  t.equal(lines(), 0)
  const taskId = world.create({ queue: 'queue 7' })
  t.equal(nextEligible(world.state, ['queue 7'], world.at), taskId)
  t.equal(lines(), 1)
  t.equal(world.state.derived.waiting.length, 101, 'numbers of queues are reused')
  checkInvariants(world.state)
  t.end()
})

t.test('expiredInARow finds waiting tasks with consecutive lease expiries', (t) => {
  const world = new World()
  const expire = (times: number) => {
    const taskId = world.create()
    for (let time = 0; time < times; time++) {
      world.grant(taskId)
      world.expire(taskId)
    }
    return taskId
  }
  const [three, once, two, leased] = [expire(3), expire(1), expire(2), expire(5)]
  world.grant(leased)
  t.strictSame(expiredInARow(world.state, 2), [three, two])
  t.strictSame(expiredInARow(world.state, 1), [three, once, two])
  t.strictSame(expiredInARow(world.state, 6), [])

  // A reused row of the chain precedes older ones, so the ids define the order.
  world.forget(world.kill(once))
  const young = expire(3)
  t.strictSame(expiredInARow(world.state, 2), [three, two, young])
  t.end()
})
