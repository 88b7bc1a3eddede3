import { deepStrictEqual, strictEqual } from 'node:assert'
import {
  apply,
  checkInvariants,
  countTasks,
  createState,
  decodeRecord,
  encodeRecord,
  encodeState,
  getTask,
  hashState,
  InvariantViolation,
  type LogRecord,
  position,
  type State,
  StateDecoder,
  skipTo,
} from '@tenure/state-machine'
import { Random } from '@tenure/testing'
import t from 'tap'
import { allTasks, World } from './world.js'

type Entry = readonly [lsn: number, record: LogRecord]

/** A world that keeps all applied entries, like a log. */
class LoggedWorld extends World {
  readonly log: Entry[] = []

  override apply(record: LogRecord): number {
    const lsn = super.apply(record)
    this.log.push([lsn, record])
    return lsn
  }
}

/** Contains every record, every outcome of an attempt, a gap, and forgotten tasks. */
function history(): Entry[] {
  const world = new LoggedWorld()
  const completed = world.leased({ requestId: 'ü 1', payload: Buffer.alloc(200, 7) })
  world.create({ queue: 'mail', requestId: 'r2', notBefore: world.at + 5000 })
  const failing = world.leased({
    retryPolicy: { maxRetries: 1, backoff: { kind: 'exponential', initialMs: 10, maxMs: 100 } },
  })
  world.extend(completed.leaseId, world.at + 20_000)
  world.at += 5
  world.fail(failing.taskId, { reportId: 'p-1' })
  world.complete(completed.taskId, { result: Buffer.from('done'), reportId: 'p-2' })
  world.at += 10
  world.grant(failing.taskId, { workerId: 'w-2' })
  world.fail(failing.taskId, { failureReason: 'again' })
  const late = world.leased()
  const stopped = world.leased({ queue: 'mail' })
  world.expire(late.taskId)
  world.expire(stopped.taskId, { atStart: true })
  world.cancel(late.taskId, late.leaseId)
  world.grant(late.taskId, { leaseExpiry: world.at + 1 })
  const second = world.grant(stopped.taskId)
  world.kill(stopped.taskId, 'no more')
  world.cancel(stopped.taskId, second)
  skipTo(world.state, 1000)
  world.kill(world.create(), '')
  world.forget(world.nextLsn - 3)
  world.create({ requestId: 'ü 1' })
  world.expire(late.taskId)
  world.forget(world.nextLsn - 1)
  world.grant(world.create())
  return world.log
}

const log = history()

function tell(state: State, [lsn, record]: Entry): void {
  if (lsn > position(state).lastLsn + 1) skipTo(state, lsn)
  apply(state, lsn, record)
}

function replay(entries: readonly Entry[]): State {
  const state = createState()
  for (const entry of entries) tell(state, entry)
  return state
}

function throughChunks(state: State): State {
  const decoder = new StateDecoder({ hashKey: 7 })
  for (const chunk of encodeState(state, { chunkBytesMax: 200 })) decoder.add(chunk)
  return decoder.finish()
}

/** Hashes of the state after each number of records. */
const hashes = Array.from({ length: log.length + 1 }, (_, count) =>
  hashState(replay(log.slice(0, count))),
)

t.test('the history has all nine records, and no two states of it are equal', (t) => {
  t.equal(new Set(log.map(([, { type }]) => type)).size, 9)
  t.equal(new Set(hashes).size, log.length + 1)
  t.end()
})

t.test('a state decoded at any LSN and continued equals a full replay at every later LSN', (t) => {
  const whole = allTasks(replay(log))
  for (let cut = 0; cut <= log.length; cut++) {
    const state = throughChunks(replay(log.slice(0, cut)))
    strictEqual(hashState(state), hashes[cut])
    for (let count = cut; count < log.length; count++) {
      tell(state, log[count]!)
      strictEqual(hashState(state), hashes[count + 1], `${count + 1} records, cut at ${cut}`)
    }
    checkInvariants(state)
    deepStrictEqual(allTasks(state), whole)
  }
  t.pass(`${log.length + 1} prefixes`)
  t.end()
})

t.test('applying a decoded record equals applying the original, at every LSN', (t) => {
  const state = createState()
  for (const [index, [lsn, record]] of log.entries()) {
    tell(state, [lsn, decodeRecord(encodeRecord(record))])
    strictEqual(hashState(state), hashes[index + 1], `${record.type} at LSN ${lsn}`)
  }
  checkInvariants(state)
  deepStrictEqual(allTasks(state), allTasks(replay(log)))
  t.pass(`${log.length} records`)
  t.end()
})

/** Applies the record as the next one, regardless of its ids. */
function isRefused(state: State, record: LogRecord): boolean {
  const { lastLsn, lastAt } = position(state)
  try {
    apply(state, lastLsn + 1, { ...record, at: Math.max(record.at, lastAt) })
    return false
  } catch (error) {
    if (error instanceof InvariantViolation) return true
    throw error
  }
}

t.test('a record that is rejected after any prefix leaves no trace', (t) => {
  let refused = 0
  for (let count = 0; count <= log.length; count++) {
    const prefix = log.slice(0, count)
    let state = replay(prefix)
    for (const [, record] of log) {
      if (!isRefused(state, record)) {
        state = replay(prefix)
        continue
      }
      refused++
      strictEqual(hashState(state), hashes[count], `${record.type} after ${count} records`)
      checkInvariants(state)
    }
    for (const entry of log.slice(count)) tell(state, entry)
    strictEqual(hashState(state), hashes.at(-1), `the rest after ${count} records`)
  }
  t.ok(refused > 500, `${refused} records were rejected`)
  t.end()
})

// ---- a long history

const lives = 200_000
const openMax = 1000

t.test(`after ${lives} tasks the state is only as large as the remaining ones`, (t) => {
  const state = createState()
  const { tasks, attempts, blobs, queues, workers } = state.authoritative
  const { byLsn, byRequestId, waiting } = state.derived
  const random = new Random(10)
  const bytes = Buffer.alloc(40_000, 'x')
  const open: number[] = []
  let lsn = 0
  let at = 1000

  const write = (record: object) => apply(state, ++lsn, { at, ...record } as never)

  function create(life: number): void {
    at++
    open.push(lsn + 1)
    write({
      type: 'TaskCreated',
      taskId: lsn + 1,
      payload: bytes.subarray(0, random.integer(random.chance(0.01) ? 40_000 : 300)),
      executionWindowMs: 60_000,
      retryPolicy: { maxRetries: random.integer(3), backoff: { kind: 'fixed', delayMs: 3 } },
      queue: `q${life % 50 === 0 ? life : life % 9}`,
      requestId: random.chance(0.5) ? `request ${life}` : undefined,
      notBefore: random.chance(0.2) ? at + random.integer(20) : undefined,
    })
  }

  /** Leases the task and ends the attempt in one of several ways. */
  function attempt(taskId: number, life: number): void {
    const { attempt, eligibleAt = 0 } = getTask(state, taskId) ?? { attempt: 0 }
    at = Math.max(at, eligibleAt)
    const leaseId = lsn + 1
    const workerId = `w${life % 20 === 0 ? life : life % 50}`
    const granted = { taskId, leaseId, workerId, attempt: attempt + 1, leaseExpiry: at + 20 }
    write({ type: 'LeaseGranted', ...granted })
    const kind = random.integer(10)
    if (kind < 5) {
      const result = bytes.subarray(0, random.integer(100))
      write({ type: 'TaskCompleted', taskId, leaseId, reportId: `r${life}`, result })
    } else if (kind < 7) {
      const failureReason = 'x'.repeat(random.integer(200))
      write({ type: 'TaskFailed', taskId, leaseId, failureReason, reportId: `f${life}` })
    } else if (kind < 9) {
      write({ type: 'LeaseExtended', leaseId, newLeaseExpiry: at + 30 })
      at += 30
      write({ type: 'LeaseExpired', taskId, leaseId, atStart: kind === 8 })
      write({ type: 'TaskCancelled', taskId, leaseId })
    } else {
      write({ type: 'TaskDead', taskId, reason: 'stopped' })
    }
  }

  for (let life = 0; life < lives; life++) {
    create(life)
    if (open.length > openMax) {
      const place = random.integer(open.length)
      const taskId = open[place] ?? 0
      open[place] = open.at(-1) ?? 0
      open.pop()
      while (getTask(state, taskId)?.state === 'WAITING') attempt(taskId, life)
    }
    if (life % 2000 === 1999 && lsn > 20_000)
      write({ type: 'TasksForgotten', through: lsn - 20_000 })
  }
  checkInvariants(state)
  t.ok(tasks.capacity < 20_000, `${tasks.capacity} rows of tasks`)
  t.ok(attempts.capacity < 40_000, `${attempts.capacity} rows of attempts`)

  write({ type: 'TasksForgotten', through: lsn - 1 })
  checkInvariants(state)
  t.match(countTasks(state), { waiting: openMax, leased: 0, ended: 0 })
  t.equal(tasks.size, openMax)
  t.equal(attempts.size, 0)
  t.equal(workers.size, 0)
  t.equal(byLsn.size, openMax)
  t.ok(byLsn.slots < 10 * openMax, `${byLsn.slots} slots for ${openMax} LSNs`)
  t.ok(byRequestId.size <= openMax)
  t.ok(blobs.count <= openMax)
  t.ok(blobs.pages < 80, `${blobs.pages} pages for ${blobs.bytes} bytes`)
  t.equal(waiting.filter((line) => line !== undefined).length, queues.size)
  t.end()
})
