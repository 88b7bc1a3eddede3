import { checkInvariants } from '@tenure/state-machine'
import t from 'tap'
import { outcomes } from '../src/store/attempt-rows.js'
import { attemptsKept } from '../src/task.js'
import { World } from './world.js'

/** A state with a task in every state and more than one attempt. `row` finds a task's row. */
function someState() {
  const world = new World()
  const policy = { maxRetries: 0, backoff: { kind: 'fixed' as const, delayMs: 0 } }
  const failed = world.leased({ retryPolicy: policy }).taskId
  world.fail(failed)
  const completed = world.leased({ requestId: 'done' }).taskId
  world.complete(completed)
  const dead = world.leased().taskId
  world.kill(dead)
  const { taskId: waiting, leaseId } = world.leased({ queue: 'mail', requestId: 'waits' })
  world.expire(waiting)
  world.cancel(waiting, leaseId)
  const leased = world.leased().taskId
  world.expire(leased)
  world.grant(leased)
  const fresh = world.create()
  const [later] = [1, 2].map((ms) => world.create({ notBefore: world.at + ms }))
  const { state } = world
  const row = (taskId: number) => state.derived.byLsn.get(taskId)
  const since = (taskId: number) => state.authoritative.tasks.stateSince.get(row(taskId))
  const newest = (taskId: number) => state.authoritative.tasks.newestAttempt.get(row(taskId))
  const { byLsn, byRequestId, ended: endedLine } = state.derived
  return {
    ...state.authoritative,
    byLsn,
    byRequestId,
    endedLine,
    state,
    row,
    since,
    newest,
    failed,
    completed,
    dead,
    waiting,
    leased,
    fresh,
    later: later ?? 0,
  }
}

type Some = ReturnType<typeof someState>

const sabotages: [what: string, does: (some: Some) => void, says: RegExp][] = [
  // 000 §7 and 003 §7
  [
    'a task in WAITING has no lease',
    (s) => s.tasks.currentLeaseId.set(s.row(s.waiting), 5),
    /is WAITING and has lease 5/,
  ],
  [
    'a task in LEASED has a lease',
    (s) => s.tasks.currentLeaseId.set(s.row(s.leased), 0),
    /is LEASED and has no lease/,
  ],
  [
    'a task in LEASED has exactly one valid lease',
    (s) => s.tasks.currentLeaseId.set(s.row(s.leased), 4),
    /its lease is not its newest attempt/,
  ],
  [
    'a lease has one expiry',
    (s) => s.attempts.leaseExpiry.set(s.newest(s.leased), 5),
    /has two expiries of one lease/,
  ],
  [
    'a task has at most one active lease',
    (s) => s.attempts.outcome.set(s.attempts.older.get(s.newest(s.leased)), outcomes.OPEN),
    /was not the last one and ended as OPEN/,
  ],
  [
    'the attempt of a LEASED task runs',
    (s) => s.attempts.outcome.set(s.newest(s.leased), outcomes.EXPIRED),
    /its newest attempt is not OPEN/,
  ],
  [
    'an attempt runs only while its task is LEASED',
    (s) => s.attempts.outcome.set(s.newest(s.waiting), outcomes.OPEN),
    /is WAITING and its newest attempt is OPEN/,
  ],
  ['a state is one of five', (s) => s.tasks.state.set(s.row(s.dead), 9), /is in state 9/],
  [
    'a COMPLETED task never transitions again',
    (s) => s.attempts.outcome.set(s.newest(s.waiting), outcomes.COMPLETED),
    /is WAITING after it was COMPLETED/,
  ],
  [
    'COMPLETED is what a completed attempt makes',
    (s) => s.attempts.outcome.set(s.newest(s.completed), outcomes.EXPIRED),
    /is COMPLETED and no attempt is/,
  ],
  [
    'FAILED is what a failed attempt makes',
    (s) => s.attempts.outcome.set(s.newest(s.failed), outcomes.EXPIRED),
    /is FAILED and its newest attempt is not/,
  ],
  [
    'a FAILED task has no retries left',
    (s) => s.tasks.maxRetries.set(s.row(s.failed), 9),
    /FAILED with retries left/,
  ],
  [
    'a FAILED task has not one retry left',
    (s) => s.tasks.maxRetries.set(s.row(s.failed), 1),
    /FAILED with retries left/,
  ],
  [
    'a WAITING task has retries left',
    (s) => s.tasks.failures.set(s.row(s.waiting), 9),
    /WAITING with no retries left/,
  ],
  [
    'a DEAD task never transitions again',
    (s) => s.attempts.outcome.set(s.newest(s.waiting), outcomes.DEAD),
    /is WAITING after it was DEAD/,
  ],
  [
    'outcomes are five',
    (s) => s.attempts.outcome.set(s.newest(s.dead), 9),
    /the outcome of lease \d+ is 9/,
  ],
  [
    'leases of a task are granted one after the other',
    (s) => s.attempts.leaseId.set(s.attempts.older.get(s.newest(s.leased)), 10_000),
    /is not older than lease/,
  ],
  [
    'no two attempts are of one lease',
    (s) => {
      const newest = s.newest(s.leased)
      s.attempts.leaseId.set(s.attempts.older.get(newest), s.attempts.leaseId.get(newest))
    },
    /is not older than lease/,
  ],
  [
    'a lease is granted after its task was created',
    (s) => s.attempts.leaseId.set(s.newest(s.dead), 1),
    /is older than its task/,
  ],
  [
    'only a lease without authority is cancelled',
    (s) => s.attempts.cancelled.set(s.newest(s.completed), 1),
    /is cancelled and COMPLETED/,
  ],
  [
    'a lease stays within the execution window',
    (s) => s.tasks.executionWindowMs.set(s.row(s.dead), 1),
    /passes the execution window/,
  ],
  [
    'attempts are counted',
    (s) => s.tasks.attempts.set(s.row(s.dead), 2),
    /counts 2 attempts kept, has 1/,
  ],
  [
    'every attempt is remembered',
    (s) => s.tasks.attempt.set(s.row(s.dead), 2),
    /keeps 1 attempts of 2/,
  ],
  [
    'a task is not newer than the log',
    (s) => (s.state.authoritative.lastLsn = 3),
    /task \d+: is newer than LSN 3/,
  ],
  [
    'a lease is not newer than the log',
    (s) => s.attempts.leaseId.set(s.newest(s.dead), 999),
    /its lease is newer than/,
  ],
  [
    'time does not go back',
    (s) => s.tasks.createdAt.set(s.row(s.dead), 2 ** 50),
    /changed before it was created/,
  ],
  [
    'time does not run ahead',
    (s) => s.tasks.stateSince.set(s.row(s.dead), 2 ** 50),
    /changed after the last record/,
  ],
  ['a task ends after it began', (s) => s.tasks.due.set(s.row(s.failed), 1), /ended at LSN 1/],
  ['a task ends in the log', (s) => s.tasks.due.set(s.row(s.dead), 10_000), /ended at LSN 10000/],
  [
    'no attempt is granted before its task was created',
    (s) => s.tasks.createdAt.set(s.row(s.dead), s.state.authoritative.lastAt),
    /lease \d+ was granted before its task was created/,
  ],
  [
    'a lease expires after it was granted',
    (s) => s.attempts.leaseExpiry.set(s.newest(s.dead), s.attempts.grantedAt.get(s.newest(s.dead))),
    /lease \d+ expires before it was granted/,
  ],
  [
    'an attempt ends after it was granted',
    (s) => s.attempts.endedAt.set(s.newest(s.completed), 1),
    /lease \d+ ended before it was granted/,
  ],
  [
    'an attempt begins after the one before has ended',
    (s) => s.attempts.endedAt.set(s.attempts.older.get(s.newest(s.leased)), 2 ** 50),
    /lease \d+ was there after \d+/,
  ],
  [
    'a COMPLETED attempt was reported before its expiry',
    (s) => s.attempts.leaseExpiry.set(s.newest(s.completed), s.since(s.completed)),
    /lease \d+ is COMPLETED after its expiry/,
  ],
  [
    'a FAILED attempt was reported before its expiry',
    (s) => s.attempts.leaseExpiry.set(s.newest(s.failed), s.since(s.failed)),
    /lease \d+ is FAILED after its expiry/,
  ],
  [
    'an attempt is EXPIRED when its expiry has come',
    (s) => s.attempts.leaseExpiry.set(s.newest(s.waiting), s.since(s.waiting) + 1),
    /lease \d+ is EXPIRED before its expiry/,
  ],
  [
    'an attempt that runs has not ended',
    (s) => s.attempts.endedAt.set(s.newest(s.leased), 7),
    /lease \d+ is OPEN and ended at 7/,
  ],
  [
    'only a report ends an attempt by a report',
    (s) => s.attempts.reportId.set(s.newest(s.waiting), s.blobs.addText('p')),
    /lease \d+ is EXPIRED by a report/,
  ],
  [
    'a lease is of one task',
    (s) => s.attempts.leaseId.set(s.newest(s.dead), s.attempts.leaseId.get(s.newest(s.leased))),
    /LSN \d+ is there twice/,
  ],
  [
    'one record ends one task',
    (s) => s.tasks.due.set(s.row(s.dead), s.tasks.due.get(s.row(s.completed))),
    /LSN \d+ is there twice/,
  ],
  [
    'the record that ends a task makes no other one',
    (s) => s.tasks.due.set(s.row(s.dead), s.fresh),
    /LSN \d+ is there twice/,
  ],
  [
    'a task fails as often as it was leased, at most',
    (s) => s.tasks.failures.set(s.row(s.fresh), 1),
    /failed and expired 1 times in 0 attempts/,
  ],
  [
    'a task expires as often as it was leased, at most',
    (s) => s.tasks.expiriesInARow.set(s.row(s.waiting), 2),
    /failed and expired 2 times in 1 attempts/,
  ],
  [
    'a task is due after its creation',
    (s) => s.tasks.due.set(s.row(s.fresh), s.since(s.fresh) - 1),
    /is due at \d+, before it was so/,
  ],
  [
    'a task is due when it was wanted',
    (s) => s.tasks.notBefore.set(s.row(s.fresh), 2 ** 50),
    /is due at \d+, not at 1125899906842624/,
  ],
  [
    'a task changes with its attempt',
    (s) => s.tasks.stateSince.set(s.row(s.failed), s.since(s.failed) + 1),
    /changed at \d+, and its last attempt did at \d+/,
  ],
  [
    'a COMPLETED task keeps a digest',
    (s) => s.tasks.requestIdBytes.set(s.row(s.completed), 3),
    /is COMPLETED and keeps 36 bytes of its input, not 35/,
  ],
  [
    'a COMPLETED task without a request_id keeps nothing of its input',
    (s) => s.tasks.requestIdBytes.set(s.row(s.completed), 0),
    /is COMPLETED and keeps 36 bytes of its input, not 0/,
  ],
  [
    'a request_id stands in the input',
    (s) => s.tasks.requestIdBytes.set(s.row(s.fresh), 5),
    /its request_id is longer than all its input/,
  ],
  [
    'a task that never failed has no reason',
    (s) => s.tasks.hasOutcome.set(s.row(s.fresh), 1),
    /failed 0 times and has a reason/,
  ],
  [
    'a FAILED task has a reason',
    (s) => s.tasks.hasOutcome.set(s.row(s.failed), 0),
    /is FAILED without a reason/,
  ],
  [
    'a DEAD task has a reason',
    (s) => s.tasks.hasOutcome.set(s.row(s.dead), 0),
    /is DEAD without a reason/,
  ],
  // Blobs of tasks and attempts.
  ['no blob is left behind', (s) => s.blobs.addText('leak'), /11 blobs are kept, tasks have 10/],
  [
    'no blob of another size is left behind',
    (s) => {
      s.blobs.remove(s.tasks.input.get(s.row(s.fresh)))
      s.tasks.input.set(s.row(s.fresh), 0)
      s.blobs.addText('longer than before')
    },
    /bytes of blobs are kept, tasks have/,
  ],
  [
    'a blob is of one task',
    (s) => s.tasks.input.set(s.row(s.fresh), s.tasks.input.get(s.row(s.dead))),
    /blob \d+ is used twice/,
  ],
  [
    'a blob is there',
    (s) => s.tasks.input.set(s.row(s.waiting), 2 ** 31 + 5),
    /task \d+ has no blob 2147483653/,
  ],
  [
    'a blob is in a page',
    (s) => s.tasks.input.set(s.row(s.fresh), 2 ** 31 - 5),
    /task \d+ has no blob 2147483643/,
  ],
  [
    'a blob is in a cell',
    (s) => s.tasks.input.set(s.row(s.fresh), s.tasks.input.get(s.row(s.fresh)) + 1000),
    /task \d+ has no blob \d+/,
  ],
  // Every index equals a scan of all tasks.
  [
    'a request_id has its own hash',
    (s) => s.tasks.requestHash.set(s.row(s.waiting), 5),
    /task \d+ has the hash of another request_id/,
  ],
  [
    'a chain leads back',
    (s) => s.tasks.previous.set(s.row(s.dead), s.row(s.dead)),
    /ended tasks has a wrong backward link at row \d+/,
  ],
  [
    'a task in a chain is marked as such',
    (s) => s.tasks.place.set(s.row(s.dead), 3),
    /ended tasks has row \d+ in its chain that is not marked/,
  ],
  [
    'a task in a heap knows its place',
    (s) => s.tasks.place.set(s.row(s.later), 7),
    /queue default has row \d+ in another place of its heap/,
  ],
  [
    'the first task of a heap is the smallest one',
    (s) => s.tasks.due.set(s.row(s.later), 2 ** 50),
    /queue default has row \d+ below row \d+ in its heap/,
  ],
  [
    'ended tasks form a chain',
    (s) => {
      s.endedLine.leave(s.row(s.completed))
      s.endedLine.join(s.row(s.completed), 0)
    },
    /due list of ended tasks uses its heap/,
  ],
  [
    'a due list is removed with its queue',
    (s) => (s.state.derived.waiting[9] = s.state.derived.waiting[1]),
    /there is a due list of queue 9, which is gone/,
  ],
  [
    'leases that expired at start expired',
    (s) => (s.state.authoritative.counters.leasesExpiredAtStart = 3),
    /3 of 2 leases expired at start/,
  ],
  [
    'a granted lease is accounted for',
    (s) => (s.state.authoritative.counters.leasesGranted += 2),
    /3 leases ended with a task's death, of 1 deaths/,
  ],
  [
    'no lease ends that was not granted',
    (s) => (s.state.authoritative.counters.retries += 2),
    /-1 leases ended with a task's death/,
  ],
  [
    'a duplicate is possible after an expiry',
    (s) => (s.state.authoritative.counters.possibleDuplicates = 3),
    /3 duplicates are possible after 2 expiries/,
  ],
  [
    'a duplicate that is confirmed was possible',
    (s) => (s.state.authoritative.counters.confirmedDuplicates = 2),
    /2 duplicates are confirmed, 1 are possible/,
  ],
  [
    'a duplicate is confirmed by a refused report',
    (s) => (s.state.authoritative.counters.confirmedDuplicates = 2),
    /2 duplicates are confirmed by 1 refused reports/,
  ],
  [
    'a report is refused under a lost lease',
    (s) => (s.state.authoritative.counters.refusedReports = 4),
    /4 reports were refused under 3 lost leases/,
  ],
  [
    'an attempt that followed an expired one was counted',
    (s) => (s.state.authoritative.counters.possibleDuplicates = 0),
    /possibleDuplicates is 0, and 1 are among the attempts/,
  ],
  [
    'a refused report was counted',
    (s) => (s.state.authoritative.counters.refusedReports = 0),
    /refusedReports is 0, and 1 are among the attempts/,
  ],
  [
    'an attempt that expired, was followed and reported was counted',
    (s) => s.attempts.cancelled.set(s.attempts.older.get(s.newest(s.leased)), 1),
    /confirmedDuplicates is 0, and 1 are among the attempts/,
  ],
  ['tasks are found by id', (s) => s.byLsn.remove(s.fresh), /is not found by its id/],
  [
    'tasks are found by lease',
    (s) => s.byLsn.remove(s.tasks.currentLeaseId.get(s.row(s.leased))),
    /found by its lease/,
  ],
  [
    'the index of LSNs contains nothing else',
    (s) => s.byLsn.add(10_000, 1),
    /the index of LSNs has 10 entries, not 9/,
  ],
  [
    'tasks are found by request_id',
    (s) => s.byRequestId.remove(s.row(s.waiting)),
    /not found by its request_id/,
  ],
  [
    'the index of request ids contains nothing else',
    (s) => s.byRequestId.add(s.row(s.fresh), 5),
    /the index of request ids has 3 entries, not 2/,
  ],
  [
    'leased tasks are in their due list',
    (s) => s.state.derived.leased.leave(s.row(s.leased)),
    /leased tasks has 0 tasks, not 1/,
  ],
  [
    'ended tasks are in their due list',
    (s) => s.endedLine.leave(s.row(s.dead)),
    /ended tasks has 2 tasks, not 3/,
  ],
  [
    'waiting tasks are in their due list',
    (s) => s.state.derived.waiting[1]?.leave(s.row(s.fresh)),
    /queue default has 2 tasks, not 3/,
  ],
  [
    'waiting tasks are in the list of their own queue',
    (s) => {
      delete s.state.derived.waiting[s.tasks.queue.get(s.row(s.waiting))]
    },
    /the tasks of queue mail are in no due list/,
  ],
  [
    'due lists are in order',
    (s) => s.tasks.due.set(s.row(s.completed), s.tasks.due.get(s.row(s.dead)) + 1),
    /ended tasks is out of order at row \d+/,
  ],
  [
    'due lists are in order from their first task on',
    (s) => s.tasks.due.set(s.endedLine.first, s.tasks.due.get(s.row(s.dead)) - 1),
    /ended tasks is out of order at row 2/,
  ],
  [
    'a due list ends with its last task',
    ({ tasks, row, failed, completed, dead }) => {
      // The second and the third task swap places in the links.
      tasks.next.set(row(failed), row(dead))
      tasks.previous.set(row(dead), row(failed))
      tasks.next.set(row(dead), row(completed))
      tasks.previous.set(row(completed), row(dead))
      tasks.next.set(row(completed), 0)
      const end = tasks.due.get(row(dead))
      tasks.due.set(row(dead), tasks.due.get(row(completed)))
      tasks.due.set(row(completed), end)
    },
    /ended tasks does not end with its last task/,
  ],
  [
    'a due list counts its tasks',
    (s) => s.tasks.next.set(s.endedLine.first, 0),
    /ended tasks counts 3 tasks and has 1/,
  ],
  [
    'a queue is found by its name',
    (s) => s.queues.drop(s.tasks.queue.get(s.row(s.waiting))),
    /queue .*is not found by its name/,
  ],
  ['uses of a queue are counted', (s) => s.queues.use('mail'), /queue mail counts 2 uses, not 1/],
  [
    'queues are removed with their last task',
    (s) => s.queues.use('none'),
    /3 names of queues are kept, 2 are used/,
  ],
  ['uses of a worker are counted', (s) => s.workers.use('w'), /worker w counts \d uses, not \d/],
  ['attempts belong to tasks', (s) => s.attempts.add(), /7 attempts are kept, tasks have 6/],
  [
    'created tasks are counted',
    (s) => s.state.authoritative.counters.tasksCreated++,
    /9 tasks created less 0/,
  ],
  [
    'ended tasks are counted',
    (s) => s.state.authoritative.counters.tasksDead++,
    /4 tasks ended by the counters, 3/,
  ],
]

for (const [what, sabotage, says] of sabotages) {
  t.test(`checkInvariants reports a violation of: ${what}`, (t) => {
    const some = someState()
    t.doesNotThrow(() => checkInvariants(some.state))
    sabotage(some)
    t.throws(() => checkInvariants(some.state), { code: 'STATE_BROKEN', message: says })
    t.end()
  })
}

t.test('checkInvariants reports a heap that is out of order', (t) => {
  const world = new World()
  const [first] = [1, 2].map((ms) => world.create({ notBefore: world.at + ms }))
  const { state } = world
  state.authoritative.tasks.due.set(state.derived.byLsn.get(first ?? 0), world.at + 3)
  t.throws(() => checkInvariants(state), {
    message: /queue default has row 2 below row 1 in its heap/,
  })
  t.end()
})

t.test('checkInvariants reports one attempt too many', (t) => {
  const world = new World()
  const taskId = world.create()
  for (let i = 0; i < attemptsKept; i++) {
    world.grant(taskId)
    world.expire(taskId)
  }
  const { tasks, attempts } = world.state.authoritative
  let oldest = tasks.newestAttempt.get(world.state.derived.byLsn.get(taskId))
  while (attempts.older.get(oldest) !== 0) oldest = attempts.older.get(oldest)
  attempts.older.set(oldest, attempts.add())
  t.throws(() => checkInvariants(world.state), { message: /counts 32 attempts kept, has 33/ })
  t.end()
})

t.test('checkInvariants reports a LEASED task without an attempt', (t) => {
  const world = new World()
  world.state.authoritative.tasks.state.set(world.state.derived.byLsn.get(world.create()), 1)
  t.throws(() => checkInvariants(world.state), {
    code: 'STATE_BROKEN',
    message: /its lease is not its newest attempt/,
  })
  t.end()
})

/** A state with `count` tasks, each with one fault. */
function faulty(count: number) {
  const world = new World()
  const { authoritative, derived } = world.state
  for (let i = 0; i < count; i++)
    authoritative.tasks.hasOutcome.set(derived.byLsn.get(world.create()), 1)
  return world.state
}

t.test('checkInvariants lists ten faults and counts the others', (t) => {
  const fault = 'failed 0 times and has a reason'
  const ten = Array.from({ length: 10 }, (_, index) => `task ${index + 1}: ${fault}`).join('; ')
  const message = (count: number) => {
    try {
      checkInvariants(faulty(count))
    } catch (error) {
      return (error as Error).message
    }
    throw new Error('nothing was found')
  }
  t.equal(message(10), `the state is broken: ${ten}`)
  t.equal(message(12), `the state is broken: ${ten}; and 2 more`)
  t.equal(message(999), `the state is broken: ${ten}; and 989 more`)
  t.equal(message(5000), `the state is broken: ${ten}; and 990 or more`)
  t.end()
})

t.test('checkInvariants ends on links that form a loop', (t) => {
  const rings: ((some: Some) => void)[] = [
    (s) => s.attempts.older.set(s.newest(s.leased), s.newest(s.leased)),
    (s) => s.tasks.next.set(s.row(s.completed), s.row(s.failed)),
    (s) => s.tasks.next.set(s.endedLine.first, s.endedLine.first),
    (s) => s.tasks.next.set(s.row(s.dead), s.endedLine.first),
  ]
  for (const close of rings) {
    const some = someState()
    close(some)
    // It must stop in the loop, not only after enough faults.
    const message = /^(?!.* or more)/
    t.throws(() => checkInvariants(some.state), { code: 'STATE_BROKEN', message })
  }
  t.end()
})

t.test('an empty state has no faults', (t) => {
  t.doesNotThrow(() => checkInvariants(new World().state))
  t.end()
})
