import {
  checkInvariants,
  endedTasks,
  getCounters,
  getCurrentLeaseId,
  getLease,
  getTask,
  hashState,
  leasedTasks,
  nextEligible,
  nextExpiry,
  position,
  queueNames,
  type State,
  transitions,
  waitingTasks,
} from '@tenure/state-machine'
import { Random } from '@tenure/testing'
import { Book, sourceOf } from '@tenure/testing-histories'
import t, { type Test } from 'tap'
import { beginning, History, replayOnto } from '../src/index.js'

const usualPoints = 50
const points = Number(process.env.TENURE_PROPERTY_RUNS ?? usualPoints)
// Whoever asks for more than usual has the time for it.
if (points > usualPoints) t.setTimeout(0)
// Other lives every time; the seed is shown, and given again it makes the same ones.
const seed = Number(process.env.TENURE_SEED ?? Math.floor(Math.random() * 2 ** 31))

const records = 20_000
const queues = ['default', 'mail', 'ünïcode']
const rememberedRecords = 1500

t.test(
  `the state after a checkpoint and what came behind it is that of a full replay, at ${points} random points`,
  async (t) => {
    t.comment(`seed ${seed}`)
    const random = new Random(seed)
    const book = writeLives(random)
    checkVariety(t, book)
    const replayed = beginning()
    for (const [checkpoint, lsn] of choosePoints(random)) {
      await replayOnto(replayed, sourceOf(book), { until: { lsn } })
      const recovered = await recover(book, checkpoint, lsn)
      const where = `checkpoint at LSN ${checkpoint}, LSN ${lsn}, seed ${seed}`
      t.equal(hashState(recovered), hashState(replayed), where)
      // The hash is taken over what the checkpoint's own code writes: that it writes all is seen here.
      t.equal(describe(recovered), describe(replayed), where)
      checkInvariants(recovered)
    }
  },
)

/** Where a kind of record is rare, nothing is shown of what it leaves behind. */
function checkVariety(t: Test, book: Book): void {
  const types = book.entries.map(({ record }) => record.type)
  for (const type of Object.keys(transitions)) {
    const count = types.filter((other) => other === type).length
    t.ok(count > 20, `${count} x ${type}`)
  }
}

/** Checkpoints, each with a point that is not before it, the first point first. */
function choosePoints(random: Random): [checkpoint: number, lsn: number][] {
  const chosen = Array.from({ length: points }, (): [number, number] => {
    const lsn = 1 + random.integer(records)
    return [1 + random.integer(lsn), lsn]
  })
  return chosen.sort(([, a], [, b]) => a - b)
}

/** The records that the checkpoint covers are gone, so that nothing else can be begun with. */
function recover(book: Book, checkpoint: number, lsn: number): Promise<State> {
  const source = sourceOf(book, { checkpoints: [checkpoint], firstLsn: checkpoint + 1 })
  return new History(source).stateAt({ until: { lsn } })
}

/** All that can be asked of a state, and who stands in which line before whom. */
function describe(state: State): string {
  const waiting = queueNames(state).map((queue) => [queue, waitingTasks(state, queue)] as const)
  const [leased, ended] = [leasedTasks(state), endedTasks(state)]
  const taskIds = [...waiting.flatMap(([, ids]) => ids), ...leased, ...ended]
  const tasks = taskIds.map((taskId) => getTask(state, taskId))
  return JSON.stringify([position(state), getCounters(state), waiting, leased, ended, tasks])
}

/** A lease that expired; its worker may not know. */
interface Lost {
  readonly taskId: number
  readonly leaseId: number
}

/** Busy days: everything that a record can say happens often, and what has ended is forgotten. */
function writeLives(random: Random): Book {
  const book = new Book({ leaseMs: 2000 })
  const lost: Lost[] = []
  const acts: (() => unknown)[] = [
    ...Array<() => unknown>(5).fill(() => submit(book, random)),
    ...Array<() => unknown>(8).fill(() => lease(book, random)),
    ...Array<() => unknown>(3).fill(() => onLease(book, random, extend)),
    ...Array<() => unknown>(4).fill(() => onLease(book, random, complete)),
    ...Array<() => unknown>(2).fill(() => onLease(book, random, fail)),
    () => reportLate(book, lost.splice(random.integer(lost.length + 1), 1)),
    () => random.chance(0.1) && onLease(book, random, kill),
    () => random.chance(0.1) && forget(book),
  ]
  while (book.entries.length < records) {
    book.wait(random.integer(100))
    expireDue(book, lost)
    random.pick(acts)()
  }
  return book
}

function forget(book: Book): void {
  const through = book.nextLsn - rememberedRecords
  if (through > 0) book.forget(through)
}

function submit(book: Book, random: Random): void {
  const delayMs = random.integer(500)
  const backoff = random.chance(0.5)
    ? ({ kind: 'fixed', delayMs } as const)
    : ({ kind: 'exponential', initialMs: 1 + delayMs, maxMs: 1000 } as const)
  book.submit({
    payload: random.bytes(random.integer(200)),
    queue: random.pick(queues),
    executionWindowMs: random.pick([1500, 5000, 3_600_000]),
    retryPolicy: { maxRetries: random.integer(4), backoff },
    ...(random.chance(0.3) && { notBefore: book.now + random.integer(1000) }),
    ...(random.chance(0.5) && { requestId: `request-${book.nextLsn}` }),
  })
}

function lease(book: Book, random: Random): void {
  const taskId = nextEligible(book.state, queues, book.now)
  if (taskId !== undefined) book.lease(taskId, `w-${random.integer(50)}`)
}

type OnLease = (book: Book, leaseId: number, random: Random) => unknown

function onLease(book: Book, random: Random, act: OnLease): void {
  const leased = leasedTasks(book.state)
  if (leased.length === 0) return
  act(book, getCurrentLeaseId(book.state, random.pick(leased))!, random)
}

function extend(book: Book, leaseId: number): void {
  const { leaseExpiry, windowEnd } = getLease(book.state, leaseId)!
  if (Math.min(book.now + book.leaseMs, windowEnd) > leaseExpiry) book.extend(leaseId)
}

function complete(book: Book, leaseId: number, random: Random): void {
  book.complete(leaseId, {
    ...(random.chance(0.5) && { result: random.bytes(random.integer(60)) }),
    ...(random.chance(0.5) && { reportId: `report-${leaseId}` }),
  })
}

function fail(book: Book, leaseId: number, random: Random): void {
  book.fail(leaseId, `reason ${leaseId}`, random.chance(0.5) ? `report-${leaseId}` : undefined)
}

function kill(book: Book, leaseId: number): void {
  book.kill(getLease(book.state, leaseId)!.taskId, `stopped at ${book.now}`)
}

/** Of a task that is forgotten, or has had too many attempts since, such a report leaves no record. */
function reportLate(book: Book, [lost]: readonly Lost[]): void {
  if (lost === undefined) return
  const attempts = getTask(book.state, lost.taskId)?.attempts ?? []
  if (attempts.some(({ leaseId }) => leaseId === lost.leaseId)) book.cancel(lost.leaseId)
}

function expireDue(book: Book, lost: Lost[]): void {
  for (let next = nextExpiry(book.state); next !== undefined; next = nextExpiry(book.state)) {
    if (next.at > book.now) return
    const { leaseId } = next
    const { taskId } = getLease(book.state, leaseId)!
    book.expire(leaseId)
    lost.push({ taskId, leaseId })
  }
}
