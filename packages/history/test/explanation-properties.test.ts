import { getCounters, getTask, type Task } from '@tenure/state-machine'
import { QuietChecks, Random } from '@tenure/testing'
import { type Book, randomBook, sourceOf } from '@tenure/testing-histories'
import t from 'tap'
import {
  type Cause,
  type Explanation,
  explainTask,
  History,
  type Position,
  readTaskHistory,
} from '../src/index.js'
import { explainRemembered } from '../src/internal.js'
import { type NaiveAttempt, readAttempts, readOverlaps } from './naive-story.js'

const seeds = Array.from({ length: 12 }, (_, seed) => seed + 1)
const steps = 400

async function explain(
  book: Book,
  taskId: number,
  options: Parameters<typeof sourceOf>[1] = {},
  until?: Position,
): Promise<Explanation | undefined> {
  const history = new History(sourceOf(book, options))
  const cut = until === undefined ? {} : { until }
  const read = await readTaskHistory(history, taskId, cut)
  return explainTask(read, until === undefined ? {} : { asOf: until })
}

const tasksOf = (book: Book) =>
  book.entries.flatMap(({ lsn, record }) => (record.type === 'TaskCreated' ? [lsn] : []))

t.test('each attempt after the first has a cause, and every fact is in the records', async (t) => {
  const checks = new QuietChecks(t)
  let again = 0
  let confirmedInAll = 0
  const kinds = new Set<string>()
  for (const seed of seeds) {
    const book = randomBook(new Random(seed), steps)
    const duplicates: boolean[] = []
    for (const taskId of tasksOf(book)) {
      const told = (await explain(book, taskId))!
      duplicates.push(...told.duplicates.map(({ confirmed }) => confirmed))
      const read = readAttempts(book.entries, taskId)
      checks.strictSame(
        told.attempts.map(essence),
        read.map(essenceOfNaive),
        `${seed}: task ${taskId}`,
      )
      checks.strictSame(
        told.overlaps.map((overlap) => ({ ...overlap })),
        readOverlaps(read),
      )
      checkCauses(checks, told, read)
      checkEvents(checks, book, told)
      const left = getTask(book.state, taskId)
      if (left !== undefined) checks.equal(told.state, left.state)
      again += Math.max(0, read.length - 1)
      for (const { kind } of told.causes) kinds.add(kind)
    }
    const { possibleDuplicates, confirmedDuplicates } = getCounters(book.state)
    const confirmed = duplicates.filter(Boolean).length
    checks.strictSame([duplicates.length, confirmed], [possibleDuplicates, confirmedDuplicates])
    confirmedInAll += confirmed
  }
  t.ok(again > 300, `${again} attempts were repeated`)
  t.ok(confirmedInAll > 30, `${confirmedInAll} duplicates were confirmed`)
  t.equal(kinds.size, 5, [...kinds].join())
  t.ok(checks.count > 3000, `${checks.count} checks`)
})

function essence(own: Explanation['attempts'][number]) {
  const { attempt, leaseId, workerId, grantedAt, waitedMs, leaseExpiry, heartbeats, end } = own
  const { count, lastAt, smallestMarginMs: margin, longestSilenceMs } = heartbeats
  const silence = end === undefined && count === 0 ? undefined : longestSilenceMs
  return {
    attempt,
    leaseId,
    workerId,
    grantedAt,
    waitedMs,
    leaseExpiry,
    count,
    lastAt,
    margin,
    silence,
    lsn: end?.lsn,
    endAt: end?.at,
    outcome: end?.outcome,
    lateAt: own.lateReport?.at,
    lateMs: own.lateReport?.lateMs,
  }
}

const outcomes: Readonly<Record<string, string>> = {
  LeaseExpired: 'EXPIRED',
  TaskCompleted: 'COMPLETED',
  TaskFailed: 'FAILED',
  TaskDead: 'DEAD',
}

function essenceOfNaive({ beats: count, lastBeatAt: lastAt, end, lateAt, ...own }: NaiveAttempt) {
  const { attempt, leaseId, workerId, grantedAt, waitedMs, leaseExpiry, margin, silence } = own
  const outcome = end && outcomes[end.record.type]
  const lostAt = outcome === 'DEAD' ? end!.record.at : leaseExpiry
  return {
    attempt,
    leaseId,
    workerId,
    grantedAt,
    waitedMs,
    leaseExpiry,
    count,
    lastAt,
    margin,
    silence,
    lsn: end?.lsn,
    endAt: end?.record.at,
    outcome,
    lateAt,
    lateMs: lateAt === undefined ? undefined : lateAt - lostAt,
  }
}

function checkCauses(
  checks: QuietChecks,
  { causes, state, runs }: Explanation,
  read: readonly NaiveAttempt[],
) {
  const isToCome = state === 'WAITING' && read.length > 0
  checks.equal(runs, read.length)
  checks.strictSame(
    causes.map(({ attempt, leaseId, kind }) => [attempt, leaseId, kind]),
    read
      .slice(0, isToCome ? undefined : -1)
      .map((own) => [own.attempt + 1, own.leaseId, kindOf(own)]),
  )
  for (const cause of causes) {
    const own = read[cause.attempt! - 2]!
    checks.ok(cause.because.includes(String(own.leaseId)))
    if (cause.kind === 'FAILED') continue
    checks.equal(cause.expiredAt, own.leaseExpiry)
    checks.equal(cause.silenceMs, own.leaseExpiry - (own.lastBeatAt ?? own.grantedAt))
    checks.equal(cause.lateMs, own.lateAt === undefined ? undefined : own.lateAt - own.leaseExpiry)
  }
}

function kindOf({ end, lateAt, window, grantedAt, leaseExpiry }: NaiveAttempt): string {
  const { record } = end!
  if (record.type !== 'LeaseExpired') return 'FAILED'
  if (record.atStart) return 'COORDINATOR_DOWN'
  if (leaseExpiry === grantedAt + window) return 'WINDOW_OVER'
  return lateAt === undefined ? 'NO_REPORT' : 'REPORTED_LATE'
}

/** Every record of the task in order of time. Of heartbeats, only the last of each lease. */
function checkEvents(checks: QuietChecks, book: Book, { taskId, events, attempts }: Explanation) {
  const leases = new Set(attempts.map(({ leaseId }) => leaseId))
  const lastBeats = new Map<number, number>()
  const lsns: number[] = []
  for (const { lsn, record } of book.entries) {
    if (record.type === 'LeaseExtended' && leases.has(record.leaseId))
      lastBeats.set(record.leaseId, lsn)
    else if ('taskId' in record && record.taskId === taskId) lsns.push(lsn)
  }
  const told = events.flatMap(({ lsn, kind }) =>
    lsn !== undefined && kind !== 'FORGOTTEN' ? [lsn] : [],
  )
  checks.strictSame(
    told,
    [...lsns, ...lastBeats.values()].sort((a, b) => a - b),
  )
  const times = events.map(({ at }) => at)
  checks.strictSame(
    times,
    [...times].sort((a, b) => a - b),
  )
}

t.test('an explanation as of a moment contains nothing later', async (t) => {
  const checks = new QuietChecks(t)
  for (const seed of seeds.slice(0, 4)) {
    const random = new Random(seed)
    const book = randomBook(random, 200)
    for (const taskId of tasksOf(book)) {
      const lsn = taskId + random.integer(book.entries.length - taskId + 1)
      const [told, then] = [explain(book, taskId, {}, { lsn }), asIfThen(book, taskId, lsn)]
      checks.strictSame(await told, await then)
    }
  }
  t.ok(checks.count > 50, `${checks.count} checks`)
})

/** The explanation from a log that ends there. */
function asIfThen(book: Book, taskId: number, lsn: number) {
  const { at } = book.entries[lsn - 1]!.record
  const entries = book.entries.slice(0, lsn)
  // An open after the last record belongs to that moment if the next LSN is its first one.
  const openings = book.openings.filter(({ firstLsn }) => firstLsn <= lsn)
  const shorter = Object.assign(Object.create(book) as Book, { entries, openings, now: at })
  return explain(shorter, taskId, {}, { lsn })
}

t.test('without the beginning, an explanation is a subset of the full one', async (t) => {
  const checks = new QuietChecks(t)
  let unknown = 0
  for (const seed of seeds) {
    const random = new Random(seed)
    const book = randomBook(random, 200)
    const end = book.entries.length
    for (let round = 0; round < 6; round++) {
      const older = 1 + random.integer(end - 1)
      const newer = older + random.integer(end - older)
      const firstLsn = 1 + random.integer(older + 1)
      const options = { checkpoints: [older, newer], firstLsn }
      // Often before the oldest checkpoint, which then contains later events that must not be
      // shown.
      const last = random.pick([older, end])
      const lsn = firstLsn - 1 + random.integer(last - firstLsn + 2)
      for (const taskId of tasksOf(book)) {
        const until = random.chance(0.7) && lsn >= taskId ? { lsn } : undefined
        const told = await explain(book, taskId, options, until)
        if (told === undefined) continue
        const whole = (await explain(book, taskId, {}, until))!
        const message = `seed ${seed}, task ${taskId}, ${JSON.stringify({ options, until })}`
        checkLess(checks, told, whole, message)
        unknown += told.causes.filter(({ kind }) => kind === 'NOT_KNOWN').length
        if (firstLsn <= taskId) checks.strictSame(told, whole)
        else checks.equal(told.removed?.firstLsn, firstLsn)
      }
    }
  }
  t.comment(`${unknown} causes are unknown`)
  t.ok(checks.count > 5000, `${checks.count} checks`)
})

t.test('an explanation from memory is a subset of the one from records', async (t) => {
  const checks = new QuietChecks(t)
  for (const seed of seeds) {
    const book = randomBook(new Random(seed), steps)
    for (const taskId of tasksOf(book)) {
      const task: Task | undefined = getTask(book.state, taskId)
      if (task === undefined) continue
      const whole = (await explain(book, taskId))!
      checkLess(checks, explainRemembered(task), whole, `${seed}: ${taskId}`)
    }
  }
  t.ok(checks.count > 1000, `${checks.count} checks`)
})

/** Common fields must be equal. If a memory cannot classify an expiry, it must say so. */
function checkLess(checks: QuietChecks, told: Explanation, whole: Explanation, message: string) {
  if (told.state !== undefined) checks.equal(told.state, whole.state, message)
  checks.ok(told.runs <= whole.runs, message)
  if (told.removed?.attempts !== undefined) {
    checks.equal(told.attempts.length + told.removed.attempts, whole.runs, message)
  }
  for (const { heartbeats, ...own } of told.attempts) {
    const { heartbeats: all, ...full } = whole.attempts.find(
      ({ leaseId }) => leaseId === own.leaseId,
    )!
    const { remembered: _, ...facts } = own
    checks.strictSame(shared(facts, full), facts, message)
    checks.ok(heartbeats.count <= all.count, message)
    if (heartbeats.lastAt !== undefined) checks.equal(heartbeats.lastAt, all.lastAt, message)
    checks.ok(
      (heartbeats.smallestMarginMs ?? Number.POSITIVE_INFINITY) >= (all.smallestMarginMs ?? 0),
      message,
    )
  }
  for (const overlap of told.overlaps.filter(({ certain }) => certain)) {
    const isIt = ({ leaseIds }: typeof overlap) => String(leaseIds) === String(overlap.leaseIds)
    checks.strictSame(shared(overlap, whole.overlaps.find(isIt) ?? {}), overlap, message)
  }
  for (const cause of told.causes) checkCause(checks, cause, whole.causes, message)
}

function checkCause(checks: QuietChecks, told: Cause, causes: readonly Cause[], message: string) {
  const { because, kind, downMsMax, epoch, startedAt, executionWindowMs, ...facts } = told
  const full = causes.find((cause) =>
    told.attempt === undefined ? cause.leaseId === told.leaseId : cause.attempt === told.attempt,
  )!
  const isUnsure = /is unknown/.test(because)
  if (!isUnsure) checks.equal(kind, full.kind, message)
  checks.strictSame(shared(facts, full), facts, message)
  checks.ok((downMsMax ?? Number.POSITIVE_INFINITY) >= (full.downMsMax ?? 0), message)
  if (startedAt !== undefined) checks.equal(startedAt, full.startedAt, message)
  if (executionWindowMs !== undefined)
    checks.equal(executionWindowMs, full.executionWindowMs ?? executionWindowMs)
  if (epoch !== undefined) checks.equal(epoch, full.epoch, message)
}

/** The fields of `whole` that `told` has, at all levels. */
function shared(told: object, whole: object): object {
  return Object.fromEntries(
    Object.entries(told).map(([name, value]) => {
      const full = (whole as Record<string, unknown>)[name]
      const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
      return [name, isMap && typeof full === 'object' && full !== null ? shared(value, full) : full]
    }),
  )
}
