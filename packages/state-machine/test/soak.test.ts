import { apply, checkInvariants, countTasks, createState, getTask } from '@tenure/state-machine'
import { Random } from '@tenure/testing'
import t from 'tap'

const lives = 200_000
const openMax = 1000

t.test(`after ${lives} lives the state is as large as the tasks that are left`, (t) => {
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
      ...(random.chance(0.5) && { requestId: `request ${life}` }),
      ...(random.chance(0.2) && { notBefore: at + random.integer(20) }),
    })
  }

  /** Leases the task and ends the attempt in one way or another. */
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
