import { deepStrictEqual, strictEqual } from 'node:assert'
import {
  apply,
  checkInvariants,
  createState,
  decodeRecord,
  encodeRecord,
  encodeState,
  hashState,
  InvariantViolation,
  type LogRecord,
  position,
  type State,
  StateDecoder,
  skipTo,
} from '@tenure/state-machine'
import t from 'tap'
import { allTasks, World } from './world.js'

type Entry = readonly [lsn: number, record: LogRecord]

/** A world that keeps what was applied, as a log would. */
class LoggedWorld extends World {
  readonly log: Entry[] = []

  override apply(record: LogRecord): number {
    const lsn = super.apply(record)
    this.log.push([lsn, record])
    return lsn
  }
}

/** Every record, every way in which an attempt ends, a gap, and what is forgotten. */
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

/** Of the state after so many records of the log. */
const hashes = Array.from({ length: log.length + 1 }, (_, count) =>
  hashState(replay(log.slice(0, count))),
)

t.test('the history has all nine records, and no two states of it are equal', (t) => {
  t.equal(new Set(log.map(([, { type }]) => type)).size, 9)
  t.equal(new Set(hashes).size, log.length + 1)
  t.end()
})

t.test('a state of any prefix, read from its chunks, equals full replay at every LSN', (t) => {
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

t.test('apply of a decoded record equals apply of the original, at every LSN', (t) => {
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

/** Applies the record as the next one, whatever its own ids say. */
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

t.test('no record is half applied: each one, refused after any prefix, leaves no trace', (t) => {
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
  t.ok(refused > 500, `${refused} records were refused`)
  t.end()
})
