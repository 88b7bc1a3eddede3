import type { Reason } from '@tenure/protocol'
import t from 'tap'
import { deadlineMs, heartbeatMs, leaseMs, World } from './world.js'

/**
 * The worker's contract (004), sentence by sentence. Each title quotes the specification. The other files
 * test the runtime's own guarantees.
 */

const committed = { kind: 'committed', state: 'COMPLETED' } as const
const cancelled = { kind: 'cancelled', reason: 'SUPERSEDED', supersededBy: 900 } as const

/** Long enough for any message that might still be sent. */
const longMs = 10 * leaseMs

/** A worker whose only report waits for its answer. */
async function reportOne(text = 'done') {
  const world = await World.create()
  const run = await world.grant()
  run.returns(text)
  await world.rest()
  return { world, run, report: world.coordinator.take('complete') }
}

t.test('§1 workers execute tasks, but never decide task truth', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  run.throws('Error: it broke')
  await world.rest()
  const report = world.coordinator.take('fail')
  t.strictSame(Object.keys(report.request).sort(), [
    ...['id', 'kind', 'leaseId', 'reason', 'reportId', 'taskId'],
  ])
  report.answer({ kind: 'committed', state: 'WAITING', eligibleAt: 17 })
  await world.rest()
  t.strictSame(world.words('committed'), [
    { kind: 'committed', id: report.request.id, state: 'WAITING', eligibleAt: 17 },
  ])
})

t.test('§2 a worker repeatedly requests, executes, heartbeats, reports and accepts', async (t) => {
  await using world = await World.create()
  for (let round = 1; round <= 3; round++) {
    const run = await world.grant()
    await world.advance(heartbeatMs)
    await world.extend()
    run.returns()
    await world.rest()
    world.coordinator.take('complete').answer(committed)
    await world.rest()
    t.equal(world.calls('committed').length, round)
  }
})

t.test('§2 responses may be delayed', async (t) => {
  await using world = await World.create()
  world.delayMs = 3000
  world.answerPoll()
  await world.advance(3000)
  world.isolation.runs[0]?.returns()
  // Sent after the next poll: messages do not overtake each other.
  await world.advance(2 * 3000)
  world.coordinator.take('complete').answer(committed)
  await world.advance(3000)
  t.equal(world.calls('committed').length, 1)
  t.equal(world.coordinator.reports.length, 1)
})

t.test('§2 ownership may be lost silently', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.coordinator.isSilent = true
  await world.advance(deadlineMs - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
  t.strictSame(world.words('leaseLost'), ['DEADLINE'])
})

for (const answer of [
  committed,
  cancelled,
  { kind: 'rejected', reason: 'DUPLICATE_REPORT', message: 'reported before' },
] as const) {
  const word = answer.kind.toUpperCase()
  t.test(`§3 ${word} is final for that attempt, and observed exactly once`, async (t) => {
    const { world, report } = await reportOne()
    await using _ = world
    report.answer(answer)
    await world.advance(longMs)
    t.equal(world.calls(answer.kind).length, 1)
    t.match(world.words(answer.kind), [answer])
    const others = (['committed', 'cancelled', 'rejected', 'unreported'] as const)
      .filter((hook) => hook !== answer.kind)
      .flatMap((hook) => world.calls(hook))
    t.strictSame(others, [])
  })

  t.test(`§6.2 workers must never retry based on ${word}`, async (t) => {
    const { world, report } = await reportOne()
    await using _ = world
    report.answer(answer)
    await world.advance(longMs)
    await world.cut()
    await world.advance(longMs)
    t.equal(world.coordinator.reports.length, 1)
    t.equal(world.isolation.runs.length, 1)
  })
}

// ---- COMMITTED

t.test('§3.1 after COMMITTED: release all local resources', async (t) => {
  await using world = await World.create()
  const timersBefore = world.clock.timers
  const run = await world.grant()
  run.returns('done')
  await world.rest()
  t.ok(world.clock.timers > timersBefore)
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.worker.mode, 'leasing')
  await world.advance(longMs)
  t.equal(world.clock.timers, timersBefore, 'no timer is left')
  t.strictSame(world.coordinator.all('heartbeat'), [])
})

t.test('§3.1 after COMMITTED: do NOT re-report, whatever happens to the connection', async (t) => {
  const { world, report } = await reportOne()
  await using _ = world
  report.answer(committed)
  await world.rest()
  for (let times = 0; times < 3; times++) {
    await world.cut()
    await world.advance(1000)
  }
  t.equal(world.coordinator.reports.length, 1)
})

// ---- CANCELLED

t.test('§3.2 CANCELLED is not a failure: no failure is reported', async (t) => {
  const { world, report } = await reportOne()
  await using _ = world
  report.answer(cancelled)
  await world.advance(longMs)
  t.strictSame(world.coordinator.all('fail'), [])
  t.strictSame(world.calls('rejected'), [])
  t.strictSame(world.calls('unreported'), [])
})

t.test('§3.2 after CANCELLED: discard results', async (t) => {
  const cancellations: unknown[][] = []
  await using world = await World.create({
    onCancelled: (...args) => cancellations.push(args),
  })
  const run = await world.grant()
  run.returns('the result')
  await world.rest()
  world.coordinator.take('complete').answer(cancelled)
  await world.rest()
  t.match(cancellations, [[{ taskId: run.work.taskId, leaseId: run.work.leaseId }, cancelled]])
  t.notMatch(JSON.stringify(cancellations), 'result')
})

t.test('§3.2 stop all work related to this task when permission is lost', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  world.coordinator.take('heartbeat').reject('SUPERSEDED')
  await world.rest()
  t.equal(run.isTerminated, true, 'without a grace')
  t.strictSame(run.abortCodes, [], 'it has no time to react')
  await world.advance(longMs)
  t.strictSame(world.coordinator.reports, [])
  t.equal(world.coordinator.all('heartbeat').length, 1)
})

const knownLosses = ['EXPIRED', 'SUPERSEDED', 'REPORTED', 'TASK_TERMINAL', 'UNKNOWN_TASK'] as const
for (const reason of knownLosses) {
  t.test(`§4 stop all work: a handler is terminated when a heartbeat says ${reason}`, async (t) => {
    await using world = await World.create()
    const run = await world.grant()
    await world.advance(heartbeatMs)
    world.coordinator.take('heartbeat').reject(reason)
    await world.rest()
    t.equal(run.isTerminated, true)
    t.equal(run.isGone, true)
    t.strictSame(world.words('leaseLost'), [reason])
  })
}

t.test(
  '§4 stop all work: a handler that cannot be terminated is aborted and ignored',
  async (t) => {
    await using world = await World.create()
    world.isolation.terminates = 'never'
    const run = await world.grant()
    await world.advance(heartbeatMs)
    run.log('info', 'before')
    world.coordinator.take('heartbeat').reject('SUPERSEDED')
    await world.rest()
    t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
    run.log('info', 'after')
    t.strictSame(world.words('logged'), ['info'])
    run.returns('done all the same')
    await world.advance(longMs)
    t.strictSame(world.coordinator.reports, [])
    t.strictSame(world.words('unreported'), ['LEASE_LOST'])
  },
)

t.test('§4 an inline handler cannot log once the loss is known', async (t) => {
  await using world = await World.create({
    isolation: 'inline',
    handler: ({ signal, log }) => {
      log.info('before')
      return new Promise<string>((resolve) => {
        signal.addEventListener('abort', () => {
          log.info('after')
          resolve('done all the same')
        })
      })
    },
  })
  world.answerPoll()
  await world.advance(heartbeatMs)
  world.coordinator.take('heartbeat').reject('TASK_TERMINAL')
  await world.advance(longMs)
  t.match(world.words('handlerEnded'), [{ kind: 'returned' }])
  const lines = world.calls('logged').map(([, , message]) => message)
  t.strictSame(lines, ['before'])
  t.strictSame(world.coordinator.reports, [])
})

t.test('§4 after CANCELLED a worker must never retry the task', async (t) => {
  const { world, report } = await reportOne()
  await using _ = world
  report.answer(cancelled)
  await world.advance(longMs)
  t.equal(world.isolation.runs.length, 1)
})

t.test('§4 after CANCELLED a worker must never re-submit results', async (t) => {
  const { world, report } = await reportOne()
  await using _ = world
  report.answer(cancelled)
  await world.rest()
  await world.cut()
  await world.advance(longMs)
  t.equal(world.coordinator.reports.length, 1)
})

t.test('§4 after CANCELLED a worker must never assume partial success', async (t) => {
  const { world, report } = await reportOne()
  await using _ = world
  report.answer(cancelled)
  await world.rest()
  t.strictSame(world.calls('committed'), [])
  const text = await world.worker.metrics.text()
  t.match(text, 'tenure_worker_reports_total{answer="cancelled",reason="SUPERSEDED"} 1')
  t.notMatch(text, 'answer="committed"')
})

t.test('§4 after CANCELLED a worker must never emit external side effects', async (t) => {
  const { world, run, report } = await reportOne()
  await using _ = world
  t.equal(run.isGone, true, 'the handler has ended before its report is sent')
  report.answer(cancelled)
  await world.rest()
  const asked = world.coordinator.asked.length
  await world.advance(9000)
  t.equal(world.coordinator.asked.length, asked, 'and nothing more is sent')
})

t.test('§4 after CANCELLED it never updates external state based on execution', async (t) => {
  const { world, report } = await reportOne()
  await using _ = world
  const before = world.told.length
  report.answer(cancelled)
  await world.rest()
  const hooks = world.told.slice(before).map(({ hook }) => hook)
  t.strictSame(hooks, ['cancelled', 'modeChanged'], 'no other hook is called')
})

t.test('§4 another worker may have already completed the task', async (t) => {
  const { world, report } = await reportOne()
  await using _ = world
  report.answer(cancelled)
  await world.rest()
  t.match(world.words('cancelled'), [{ reason: 'SUPERSEDED', supersededBy: 900 }])
})

t.test('§4 it behaves as if the execution never had authority: the slot is free', async (t) => {
  const { world, report } = await reportOne()
  await using _ = world
  report.answer(cancelled)
  await world.rest()
  t.equal(world.worker.mode, 'leasing')
  const next = await world.grant()
  next.returns()
  await world.rest()
  t.equal(world.coordinator.take('complete').request.taskId, next.work.taskId)
})

// ---- REJECTED

t.test('§3.3 REJECTED is logged and surfaced as an error', async (t) => {
  const { world, run, report } = await reportOne()
  await using _ = world
  report.reject('UNKNOWN_LEASE')
  await world.rest()
  const { taskId, leaseId } = run.work
  t.match(world.calls('rejected'), [[{ taskId, leaseId }, { reason: 'UNKNOWN_LEASE' }]])
  const text = await world.worker.metrics.text()
  t.match(text, 'tenure_worker_reports_total{answer="rejected",reason="UNKNOWN_LEASE"} 1')
})

for (const reason of [
  ...(['UNKNOWN_TASK', 'UNKNOWN_LEASE', 'MALFORMED', 'DUPLICATE_REPORT'] as const),
  ...(['WRONG_WORKER', 'INTERNAL'] as const),
]) {
  t.test(`§3.3 REJECTED ${reason}: do NOT retry automatically`, async (t) => {
    const { world, report } = await reportOne()
    await using _ = world
    report.reject(reason)
    await world.advance(longMs)
    t.equal(world.coordinator.reports.length, 1)
    t.equal(world.calls('rejected').length, 1)
  })
}

/** Makes the coordinator reject one request of this kind. */
const asking = {
  async lease(world: World, reason: Reason) {
    world.coordinator.take('lease').reject(reason)
    await world.rest()
  },
  async heartbeat(world: World, reason: Reason) {
    await world.grant()
    await world.advance(heartbeatMs)
    world.coordinator.take('heartbeat').reject(reason)
    await world.rest()
  },
  async report(world: World, reason: Reason) {
    const run = await world.grant()
    run.returns('done')
    await world.rest()
    world.coordinator.take('complete').reject(reason)
    await world.rest()
  },
} as const

const misuses = {
  lease: ['MALFORMED', 'FORBIDDEN'],
  heartbeat: ['MALFORMED', 'FORBIDDEN', 'UNKNOWN_LEASE', 'WRONG_WORKER'],
  report: ['MALFORMED', 'FORBIDDEN', 'UNKNOWN_LEASE', 'WRONG_WORKER', 'DUPLICATE_REPORT'],
} as const

for (const what of ['lease', 'heartbeat', 'report'] as const) {
  for (const reason of misuses[what]) {
    t.test(`§3.3 a ${what} REJECTED as ${reason} is a fatal protocol error`, async (t) => {
      await using world = await World.create({ concurrency: 2 })
      const { ended } = world.worker
      await asking[what](world, reason)
      t.match(world.calls('protocolError'), [[{ reason }, what]])
      await world.stop()
      await t.rejects(ended, {
        name: 'WorkerError',
        code: 'WORKER_PROTOCOL_ERROR',
        cause: { reason },
        message: new RegExp(`rejected a ${what} .*${reason}`),
      })
    })
  }
}

for (const [what, reason] of [
  ['heartbeat', 'UNKNOWN_TASK'],
  ['report', 'UNKNOWN_TASK'],
  ['report', 'TOO_LARGE'],
  ['heartbeat', 'INTERNAL'],
  ['report', 'INTERNAL'],
  ['lease', 'INTERNAL'],
  ['heartbeat', 'EXPIRED'],
  ['heartbeat', 'REPORTED'],
] as const) {
  t.test(`§3.3 a ${what} REJECTED as ${reason} can happen to a correct worker`, async (t) => {
    await using world = await World.create({ concurrency: 2 })
    await asking[what](world, reason)
    t.strictSame(world.calls('protocolError'), [])
    t.strictSame(world.calls('failed'), [])
    t.not(world.worker.mode, 'draining')
    await world.advance(longMs)
    t.equal(world.coordinator.waiting('lease').length, 2, 'and it continues to poll')
  })
}

// ---- heartbeats

t.test('§5 heartbeats are sent only while executing', async (t) => {
  await using world = await World.create()
  await world.advance(longMs)
  t.equal(world.coordinator.all('heartbeat').length, 0, 'none before there is a task')
  const run = await world.grant()
  for (let beats = 1; beats <= 3; beats++) {
    await world.advance(heartbeatMs)
    t.equal(world.coordinator.all('heartbeat').length, beats)
    await world.extend()
  }
  run.returns()
  await world.advance(longMs)
  t.equal(world.coordinator.all('heartbeat').length, 3, 'none while the report waits')
})

t.test('§5 heartbeats are advisory, not authoritative: the report decides', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  await world.extend()
  run.returns()
  await world.rest()
  world.coordinator.take('complete').answer(cancelled)
  await world.rest()
  t.equal(world.calls('cancelled').length, 1)
  t.equal(world.calls('committed').length, 0)
})

t.test('§5 missing heartbeats imply loss of lease', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  t.equal(world.coordinator.waiting('heartbeat').length, 1)
  await world.advance(deadlineMs - heartbeatMs)
  t.strictSame(world.words('leaseLost'), ['DEADLINE'])
  run.throws('AbortError: aborted')
  await world.advance(longMs)
  t.strictSame(world.coordinator.reports, [])
  t.strictSame(world.words('unreported'), ['LEASE_LOST'])
})

t.test('§5 expired leases are never resurrected', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  await world.advance(deadlineMs - heartbeatMs)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
  await world.extend()
  t.strictSame(world.calls('extended'), [])
  await world.advance(longMs)
  t.equal(run.isTerminated, true)
  t.strictSame(world.coordinator.reports, [])
  t.equal(world.coordinator.all('heartbeat').length, 1, 'and no more heartbeats')
})

t.test('§5 heartbeat failure is handled by the coordinator, not the worker', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  world.coordinator.take('heartbeat').reject('NO_SPACE')
  await world.rest()
  t.strictSame(run.abortCodes, [], 'the handler continues')
  t.equal(world.calls('heartbeatFailed').length, 1)
  t.strictSame(world.coordinator.reports, [])
})

// ---- retries

t.test('§6.1 workers may retry: request timeout', async (t) => {
  await using world = await World.create({ requestTimeoutMs: 2000 })
  const run = await world.grant()
  run.returns('done')
  await world.advance(2000)
  await world.advance(100)
  t.equal(world.coordinator.reports.length, 2)
})

t.test('§6.1 workers may retry: connection reset', async (t) => {
  const { world } = await reportOne()
  await using _ = world
  await world.cut()
  await world.advance(50)
  t.equal(world.coordinator.reports.length, 2)
})

t.test('§6.1 workers may retry: transient network errors', async (t) => {
  const { world } = await reportOne()
  await using _ = world
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(5000)
  t.ok(world.calls('attemptFailed').length > 1)
  world.coordinator.isDown = false
  await world.advance(5000)
  t.equal(world.coordinator.reports.length, 2)
})

t.test('§6.1 these retries must be bounded: by the deadline', async (t) => {
  const { world } = await reportOne()
  await using _ = world
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(deadlineMs)
  world.coordinator.isDown = false
  await world.advance(longMs)
  t.equal(world.coordinator.reports.length, 1)
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
})

t.test('§6.1 these retries must be bounded: heartbeats by the deadline', async (t) => {
  await using world = await World.create()
  await world.grant()
  const endsAtMs = world.now + deadlineMs
  await world.advance(heartbeatMs)
  while (world.now < endsAtMs + longMs) {
    await world.cut()
    await world.advance(500)
  }
  const beats = world.coordinator.asked.filter(({ request }) => request.kind === 'heartbeat')
  t.ok(beats.length > 10)
  t.ok(beats.every(({ arrivedAtMs }) => arrivedAtMs < endsAtMs))
})

t.test('§6.1 these retries must be bounded: connecting by giveUpAfterMs', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 60_000 })
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(60_000 - 1)
  t.equal(world.worker.mode, 'leasing')
  await world.advance(1)
  t.equal(world.worker.mode, 'stopped')
  await t.rejects(world.worker.ended, { code: 'WORKER_GAVE_UP' })
  const attempts = world.calls('attemptFailed').length
  await world.advance(longMs)
  t.equal(world.calls('attemptFailed').length, attempts)
})

t.test('§6.1 these retries must be bounded: polling by giveUpAfterMs', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 60_000 })
  const refuse = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) {
      if (world.coordinator.waiting('lease').length > 0) {
        world.coordinator.take('lease').reject('OVERLOADED')
      }
      await world.advance(100)
    }
  }
  await refuse(59_900)
  t.equal(world.worker.mode, 'leasing')
  await refuse(200)
  t.equal(world.worker.mode, 'stopped')
  await t.rejects(world.worker.ended, { code: 'WORKER_GAVE_UP', message: /OVERLOADED/ })
})

t.test('§6.1 these retries must be idempotent: each carries the same report_id', async (t) => {
  const { world } = await reportOne()
  await using _ = world
  for (let times = 0; times < 3; times++) {
    await world.cut()
    await world.advance(1000)
  }
  const { reports } = world.coordinator
  t.equal(reports.length, 4)
  t.type(reports[0]?.reportId, 'string')
  for (const { id: _, ...report } of reports.slice(1)) {
    t.strictSame(report, (({ id: _, ...first }) => first)(reports[0]!))
  }
})

// ---- failures of the execution

for (const [what, outcome, reason] of [
  ['panic', { kind: 'crashed', reason: 'its thread exited' }, 'its thread exited'],
  ['error', { kind: 'failed', reason: 'Error: it broke' }, 'Error: it broke'],
] as const) {
  t.test(`§6.3 ${what}: the worker reports fail(task_id, lease_id, reason)`, async (t) => {
    await using world = await World.create()
    const run = await world.grant()
    run.end(outcome)
    await world.rest()
    const { taskId, leaseId } = run.work
    t.match(world.coordinator.reports, [{ kind: 'fail', taskId, leaseId, reason }])
  })
}

t.test('§6.3 timeout: the worker reports fail(task_id, lease_id, reason)', async (t) => {
  await using world = await World.create()
  // A handler that ignores its signal.
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  await world.advance(20_000)
  t.equal(run.isTerminated, true)
  const { taskId, leaseId } = run.work
  t.match(world.coordinator.reports, [{ kind: 'fail', taskId, leaseId, reason: /^timeout/ }])
})

t.test('§6.3 the worker does not self-schedule retries', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  run.throws()
  await world.rest()
  world.coordinator.take('fail').answer({ kind: 'committed', state: 'WAITING', eligibleAt: 0 })
  await world.advance(longMs)
  t.equal(world.isolation.runs.length, 1)
  t.equal(world.worker.mode, 'leasing')
})

// ---- idempotency

t.test('§7 responses may be duplicated', async (t) => {
  const { world, report } = await reportOne()
  await using _ = world
  report.answer(committed)
  report.answer(committed)
  await world.advance(1000)
  t.equal(world.calls('committed').length, 1)
  t.equal(world.coordinator.reports.length, 1)
  const next = await world.grant()
  t.equal(next.isGone, false, 'and the worker continues')
})

t.test('§7 a duplicated grant runs nothing twice', async (t) => {
  await using world = await World.create({ concurrency: 3 })
  const poll = world.coordinator.take('lease')
  const terms = { heldMs: 0, leaseMs, windowMs: leaseMs, leaseExpiry: 0, windowEnd: 0 }
  const task = { taskId: 1, leaseId: 2, attempt: 1, queue: 'default', payload: Buffer.of() }
  poll.answer({ kind: 'leased', ...terms, ...task })
  poll.answer({ kind: 'leased', ...terms, ...task })
  await world.rest()
  t.equal(world.isolation.runs.length, 1)
})

t.test('§7 heartbeats must be idempotent: a repetition is identical', async (t) => {
  await using world = await World.create()
  await world.grant()
  await world.advance(heartbeatMs)
  await world.cut()
  await world.advance(50)
  const beats = world.coordinator.all('heartbeat').map(({ id: _, ...beat }) => beat)
  t.equal(beats.length, 2)
  t.strictSame(beats[1], beats[0])
})

for (const [what, end] of [
  ['completion', 'returns'],
  ['failure', 'throws'],
] as const) {
  t.test(`§7 ${what} reports must be idempotent`, async (t) => {
    await using world = await World.create({ concurrency: 2 })
    const [one, other] = [await world.grant(), await world.grant()]
    one[end]()
    other[end]()
    await world.rest()
    await world.cut()
    await world.advance(50)
    const ids = world.coordinator.reports.map(({ leaseId, reportId }) => [leaseId, reportId])
    t.equal(ids.length, 4)
    t.strictSame(ids.slice(2), ids.slice(0, 2), 'a repeated report has the same id')
    t.not(ids[0]?.[1], ids[1]?.[1], 'another report has another id')
  })
}
