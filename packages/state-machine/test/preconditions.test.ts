import {
  checkInvariants,
  getTask,
  hashState,
  type LogRecord,
  skipTo,
  type TaskState,
  transitions,
} from '@tenure/state-machine'
import t from 'tap'
import { World } from './world.js'

/** A precondition, broken in a world in which all others hold. */
interface Case {
  /** The sentence of the specification, which the violation contains. */
  readonly rule: string
  readonly record: LogRecord['type']
  readonly arrange: (world: World) => {
    readonly broken: () => void
    readonly got: unknown
    readonly expected: unknown
    /** The words before `expected` in the message. */
    readonly relation?: string
  }
}

const cases: readonly Case[] = [
  {
    rule: 'LSN must follow the last one',
    record: 'TaskCreated',
    arrange: (world) => {
      world.create()
      skipTo(world.state, 5)
      const record = world.creation({ taskId: 4 })
      return { broken: () => world.applyAt(4, record), got: 4, expected: 5 }
    },
  },
  {
    rule: 'LSN must follow the last one',
    record: 'TaskCreated',
    arrange: (world) => {
      const record = world.creation({ taskId: 2 })
      return { broken: () => world.applyAt(2, record), got: 2, expected: 1 }
    },
  },
  {
    rule: 'at must never decrease',
    record: 'TaskCreated',
    arrange: (world) => {
      world.create()
      return {
        broken: () => world.create({ at: world.at - 1 }),
        got: 999_999,
        expected: 1_000_000,
        relation: 'at least',
      }
    },
  },
  {
    rule: 'task_id must not already exist',
    record: 'TaskCreated',
    arrange: (world) => {
      const taskId = world.create()
      return { broken: () => world.create({ taskId }), got: taskId, expected: 'a new id' }
    },
  },
  {
    rule: 'task_id must equal the LSN',
    record: 'TaskCreated',
    arrange: (world) => ({ broken: () => world.create({ taskId: 7 }), got: 7, expected: 1 }),
  },
  {
    rule: 'request_id must not belong to another task',
    record: 'TaskCreated',
    arrange: (world) => {
      const other = world.create({ requestId: 'order 7' })
      const broken = () => world.create({ requestId: 'order 7' })
      return { broken, got: 'order 7', expected: `an id other than that of task ${other}` }
    },
  },
  {
    rule: 'task must exist',
    record: 'LeaseGranted',
    arrange: (world) => {
      const record = { ...world.granting(world.create()), taskId: 9 }
      return { broken: () => world.apply(record), got: 'none', expected: 9, relation: 'task' }
    },
  },
  {
    rule: 'task must exist',
    record: 'LeaseGranted',
    arrange: (world) => {
      const { taskId, leaseId } = world.leased()
      const record = { ...world.granting(taskId), taskId: leaseId }
      return { broken: () => world.apply(record), got: 'none', expected: leaseId, relation: 'task' }
    },
  },
  ...(['LeaseExpired', 'TaskCompleted', 'TaskFailed'] as const).map((record) => ({
    rule: 'task must exist',
    record,
    arrange: (world: World) => {
      // The lease is valid for another task. Only the missing task breaks a rule.
      const { leaseId } = world.leased()
      const { at } = world
      const broken = () => {
        if (record === 'LeaseExpired')
          world.apply({ type: record, at: at + 10_000, taskId: 9, leaseId, atStart: false })
        else if (record === 'TaskCompleted') world.apply({ type: record, at, taskId: 9, leaseId })
        else world.apply({ type: record, at, taskId: 9, leaseId, failureReason: 'broken' })
      }
      return { broken, got: 'none', expected: 9, relation: 'task' }
    },
  })),
  {
    rule: 'task must be eligible',
    record: 'LeaseGranted',
    arrange: (world) => {
      const taskId = world.create({ notBefore: world.at + 1 })
      return {
        broken: () => world.grant(taskId),
        got: 1_000_000,
        expected: 1_000_001,
        relation: 'at least',
      }
    },
  },
  {
    rule: 'attempt must equal previous_attempt + 1',
    record: 'LeaseGranted',
    arrange: (world) => {
      const { taskId } = world.leased()
      world.expire(taskId)
      return { broken: () => world.grant(taskId, { attempt: 3 }), got: 3, expected: 2 }
    },
  },
  {
    rule: 'lease_id must equal the LSN',
    record: 'LeaseGranted',
    arrange: (world) => {
      const taskId = world.create()
      return { broken: () => world.grant(taskId, { leaseId: 3 }), got: 3, expected: 2 }
    },
  },
  {
    rule: 'lease_expiry must be after at',
    record: 'LeaseGranted',
    arrange: (world) => {
      const taskId = world.create()
      const broken = () => world.grant(taskId, { leaseExpiry: world.at })
      return { broken, got: 1_000_000, expected: 1_000_000, relation: 'more than' }
    },
  },
  {
    rule: 'lease_expiry must be within the execution window',
    record: 'LeaseGranted',
    arrange: (world) => {
      const taskId = world.create()
      const broken = () => world.grant(taskId, { leaseExpiry: world.at + 60_001 })
      return { broken, got: 1_060_001, expected: 1_060_000, relation: 'at most' }
    },
  },
  {
    rule: 'lease must exist',
    record: 'LeaseExtended',
    arrange: (world) => {
      const { taskId } = world.leased()
      return {
        broken: () => world.extend(taskId, world.at + 20_000),
        got: 'none',
        expected: taskId,
        relation: 'lease',
      }
    },
  },
  {
    rule: 'lease must exist',
    record: 'LeaseExtended',
    arrange: (world) => {
      const { taskId, leaseId } = world.leased()
      world.expire(taskId)
      return {
        broken: () => world.extend(leaseId, world.at + 20_000),
        got: 'none',
        expected: leaseId,
        relation: 'lease',
      }
    },
  },
  {
    rule: 'lease must be currently valid',
    record: 'LeaseExtended',
    arrange: (world) => {
      const { leaseId } = world.leased()
      world.at += 10_000
      const broken = () => world.extend(leaseId, world.at + 1)
      return { broken, got: 1_010_000, expected: 1_010_000, relation: 'less than' }
    },
  },
  {
    rule: 'new expiry must be > current expiry',
    record: 'LeaseExtended',
    arrange: (world) => {
      const { leaseId } = world.leased()
      const broken = () => world.extend(leaseId, world.at + 10_000)
      return { broken, got: 1_010_000, expected: 1_010_000, relation: 'more than' }
    },
  },
  {
    rule: 'new expiry must be within the execution window',
    record: 'LeaseExtended',
    arrange: (world) => {
      const { leaseId } = world.leased()
      world.at += 5000
      const broken = () => world.extend(leaseId, 1_060_001)
      return { broken, got: 1_060_001, expected: 1_060_000, relation: 'at most' }
    },
  },
  {
    rule: 'lease must have reached its expiry',
    record: 'LeaseExpired',
    arrange: (world) => {
      const { taskId } = world.leased()
      const broken = () => world.expire(taskId, { at: 1_009_999 })
      return { broken, got: 1_009_999, expected: 1_010_000, relation: 'at least' }
    },
  },
  ...(['LeaseExpired', 'TaskCompleted', 'TaskFailed'] as const).map((record) => ({
    rule: 'lease_id must match current lease',
    record,
    arrange: (world: World) => {
      const { taskId, leaseId } = world.leased()
      world.expire(taskId)
      const current = world.grant(taskId)
      const broken = () => {
        if (record === 'LeaseExpired') world.expire(taskId, { leaseId })
        else if (record === 'TaskCompleted') world.complete(taskId, { leaseId })
        else world.fail(taskId, { leaseId })
      }
      return { broken, got: leaseId, expected: current }
    },
  })),
  {
    rule: 'lease must not be expired',
    record: 'TaskCompleted',
    arrange: (world) => {
      const { taskId } = world.leased()
      world.at += 10_000
      return {
        broken: () => world.complete(taskId),
        got: 1_010_000,
        expected: 1_010_000,
        relation: 'less than',
      }
    },
  },
  {
    rule: 'lease must not be expired',
    record: 'TaskFailed',
    arrange: (world) => {
      const { taskId } = world.leased()
      world.at += 10_000
      return {
        broken: () => world.fail(taskId),
        got: 1_010_000,
        expected: 1_010_000,
        relation: 'less than',
      }
    },
  },
  {
    rule: 'task must exist',
    record: 'TaskCancelled',
    arrange: (world) => ({
      broken: () => world.cancel(3, 4),
      got: 'none',
      expected: 3,
      relation: 'task',
    }),
  },
  {
    rule: 'lease must have been granted for the task',
    record: 'TaskCancelled',
    arrange: (world) => {
      const other = world.leased()
      world.expire(other.taskId)
      const { taskId } = world.leased()
      return {
        broken: () => world.cancel(taskId, other.leaseId),
        got: other.leaseId,
        expected: 'one of its last 32 leases',
      }
    },
  },
  {
    rule: 'lease must have lost its authority',
    record: 'TaskCancelled',
    arrange: (world) => {
      const { taskId, leaseId } = world.leased()
      return {
        broken: () => world.cancel(taskId, leaseId),
        got: 'OPEN',
        expected: 'EXPIRED or DEAD',
      }
    },
  },
  {
    rule: 'lease must have lost its authority',
    record: 'TaskCancelled',
    arrange: (world) => {
      const { taskId, leaseId } = world.leased()
      world.complete(taskId)
      return {
        broken: () => world.cancel(taskId, leaseId),
        got: 'COMPLETED',
        expected: 'EXPIRED or DEAD',
      }
    },
  },
  {
    rule: 'lease must have lost its authority',
    record: 'TaskCancelled',
    arrange: (world) => {
      const { taskId, leaseId } = world.leased()
      world.fail(taskId)
      return {
        broken: () => world.cancel(taskId, leaseId),
        got: 'FAILED',
        expected: 'EXPIRED or DEAD',
      }
    },
  },
  {
    rule: 'lease must not have been cancelled before',
    record: 'TaskCancelled',
    arrange: (world) => {
      const { taskId, leaseId } = world.leased()
      world.expire(taskId)
      world.cancel(taskId, leaseId)
      return {
        broken: () => world.cancel(taskId, leaseId),
        got: 'a second',
        expected: 'one TaskCancelled',
      }
    },
  },
  {
    rule: 'task must exist',
    record: 'TaskDead',
    arrange: (world) => ({
      broken: () => world.kill(3),
      got: 'none',
      expected: 3,
      relation: 'task',
    }),
  },
  {
    rule: 'through must lie before the record',
    record: 'TasksForgotten',
    arrange: (world) => ({
      broken: () => world.forget(1),
      got: 1,
      expected: 1,
      relation: 'less than',
    }),
  },
]

for (const { rule, record, arrange } of cases) {
  t.test(`${record}: ${rule}`, (t) => {
    const world = new World()
    const { broken, got, expected, relation } = arrange(world)
    const lsn = world.nextLsn
    const before = hashState(world.state)

    const violation = world.violation(broken)
    t.match(violation, {
      code: 'STATE_INVARIANT_VIOLATION',
      recordType: record,
      rule,
      got,
      expected,
    })
    t.equal(
      violation.message,
      `${record} at LSN ${violation.lsn}: ${rule}: got ${got}, expected ${relation ? `${relation} ` : ''}${expected}`,
    )
    t.equal(world.nextLsn, lsn, 'no LSN is used')
    t.equal(hashState(world.state), before, 'the state is unchanged')
    t.doesNotThrow(() => checkInvariants(world.state))
    t.end()
  })
}

/** A task in each state, created in the shortest way. */
const tasksIn: { readonly [S in TaskState]: (world: World) => number } = {
  WAITING: (world) => world.create(),
  LEASED: (world) => world.leased().taskId,
  COMPLETED: (world) => {
    const { taskId } = world.leased()
    world.complete(taskId)
    return taskId
  },
  FAILED: (world) => {
    const { taskId } = world.leased({
      retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } },
    })
    world.fail(taskId)
    return taskId
  },
  DEAD: (world) => {
    const { taskId } = world.leased()
    world.kill(taskId)
    return taskId
  },
}

/** Copied from 000 §4 and 003 §1–6, not from the code, so that the test is independent. */
const specified: {
  readonly [T in LogRecord['type']]: {
    readonly from: readonly TaskState[]
    readonly to: readonly TaskState[]
    readonly rule: string
  }
} = {
  TaskCreated: { from: [], to: ['WAITING'], rule: 'task_id must not already exist' },
  LeaseGranted: { from: ['WAITING'], to: ['LEASED'], rule: 'task must be in WAITING state' },
  LeaseExtended: { from: ['LEASED'], to: [], rule: 'lease must exist' },
  LeaseExpired: { from: ['LEASED'], to: ['WAITING'], rule: 'task must be in LEASED state' },
  TaskCompleted: { from: ['LEASED'], to: ['COMPLETED'], rule: 'task must be in LEASED state' },
  TaskFailed: { from: ['LEASED'], to: ['WAITING', 'FAILED'], rule: 'task must be in LEASED state' },
  TaskCancelled: {
    from: ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'],
    to: [],
    rule: 'task must exist',
  },
  TaskDead: { from: ['WAITING', 'LEASED'], to: ['DEAD'], rule: 'task must not be terminal' },
  TasksForgotten: { from: ['COMPLETED', 'FAILED', 'DEAD'], to: [], rule: 'task must be terminal' },
}

t.test('the table of transitions equals the specification', (t) => {
  t.strictSame(transitions, specified)
  t.end()
})

/** Each record that names a task in a given state, applied to a task in some state. */
const aimed = {
  LeaseGranted: (world: World, taskId: number) => world.grant(taskId),
  LeaseExpired: (world: World, taskId: number) => world.expire(taskId, { leaseId: 2 }),
  TaskCompleted: (world: World, taskId: number) => world.complete(taskId, { leaseId: 2 }),
  TaskFailed: (world: World, taskId: number) => world.fail(taskId, { leaseId: 2 }),
  TaskDead: (world: World, taskId: number) => world.kill(taskId),
}

for (const type of Object.keys(aimed) as (keyof typeof aimed)[]) {
  const { from, to, rule } = specified[type]
  for (const state of Object.keys(tasksIn) as TaskState[]) {
    const legal = from.includes(state)
    t.test(`${type} of a ${state} task: ${legal ? `to ${to.join(' or ')}` : rule}`, (t) => {
      const world = new World()
      const taskId = tasksIn[state](world)
      if (legal) {
        aimed[type](world, taskId)
        t.ok(to.includes(world.task(taskId).state))
        t.doesNotThrow(() => checkInvariants(world.state))
      } else {
        const before = hashState(world.state)
        const violation = world.violation(() => aimed[type](world, taskId))
        t.match(violation, { recordType: type, rule, got: state, expected: from.join(' or ') })
        t.equal(hashState(world.state), before, 'the state is unchanged')
        t.doesNotThrow(() => checkInvariants(world.state))
      }
      t.end()
    })
  }
}

/** How to bring a waiting task into the state with a lease after its first one. */
const endings: { readonly [S in TaskState]: (world: World, taskId: number) => void } = {
  WAITING: () => undefined,
  LEASED: (world, taskId) => world.grant(taskId),
  COMPLETED: (world, taskId) => {
    world.grant(taskId)
    world.complete(taskId)
  },
  FAILED: (world, taskId) => {
    world.grant(taskId)
    world.fail(taskId)
  },
  DEAD: (world, taskId) => world.kill(taskId),
}

for (const state of Object.keys(endings) as TaskState[]) {
  t.test(`TaskCancelled of a ${state} task: this record does not change task state`, (t) => {
    const world = new World()
    const { taskId, leaseId } = world.leased({
      retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } },
    })
    world.expire(taskId)
    endings[state](world, taskId)
    const { attempts: before, ...task } = world.task(taskId)
    t.equal(task.state, state)
    t.ok(specified.TaskCancelled.from.includes(state))

    world.at += 5
    world.cancel(taskId, leaseId)
    const { attempts: after, ...same } = world.task(taskId)
    t.strictSame(same, task)
    const [first, ...others] = before
    t.strictSame(after, [{ ...first, cancelled: true }, ...others])
    checkInvariants(world.state)
    t.end()
  })
}

t.test('only LeaseGranted creates ownership, and nothing leads out of a terminal state', (t) => {
  const rows = Object.entries(transitions) as [
    string,
    { from: readonly string[]; to: readonly string[] },
  ][]
  const leadTo = (state: string) => rows.filter(([, { to }]) => to.includes(state))
  t.strictSame(
    leadTo('LEASED').map(([type]) => type),
    ['LeaseGranted'],
  )
  for (const state of ['COMPLETED', 'FAILED', 'DEAD']) {
    const leaving = rows.filter(([, { from, to }]) => from.includes(state) && to.length > 0)
    t.strictSame(leaving, [], state)
  }
  t.end()
})

// The three records that do not name a task in a given state.
for (const state of Object.keys(tasksIn) as TaskState[]) {
  const isListed = ({ from }: { readonly from: readonly TaskState[] }) => from.includes(state)
  const { LeaseExtended, TaskCreated, TasksForgotten } = specified

  const extension = isListed(LeaseExtended) ? 'no task state transition' : LeaseExtended.rule
  t.test(`LeaseExtended of a ${state} task: ${extension}`, (t) => {
    const world = new World()
    const taskId = tasksIn[state](world)
    const extend = () => world.extend(2, world.at + 20_000)
    if (isListed(LeaseExtended)) t.doesNotThrow(extend)
    else t.equal(world.violation(extend).rule, LeaseExtended.rule)
    t.equal(world.task(taskId).state, state)
    t.end()
  })

  t.test(`TaskCreated under the id of a ${state} task: ${TaskCreated.rule}`, (t) => {
    const world = new World()
    const taskId = tasksIn[state](world)
    t.equal(isListed(TaskCreated), false)
    t.equal(world.violation(() => world.create({ taskId })).rule, TaskCreated.rule)
    t.end()
  })

  const end = isListed(TasksForgotten) ? 'it is removed' : `${TasksForgotten.rule}, so it stays`
  t.test(`TasksForgotten of a ${state} task: ${end}`, (t) => {
    const world = new World()
    const taskId = tasksIn[state](world)
    world.forget(world.nextLsn - 1)
    t.equal(getTask(world.state, taskId)?.state, isListed(TasksForgotten) ? undefined : state)
    checkInvariants(world.state)
    t.end()
  })
}
