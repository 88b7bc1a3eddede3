import { randomBytes } from 'node:crypto'
import { encodeRecord, type LogRecord } from '@tenure/state-machine'
import { openLog } from '@tenure/wal'

/** The first task of the log, which runs again only at its end: what is read for it is all there is. */
export const taskAsked = 1

const batchRecords = 2000
const retryPolicy = { maxRetries: 3, backoff: { kind: 'fixed', delayMs: 1000 } } as const

/** A log of so many records: tasks that are submitted, leased, extended and completed, four records each. */
export async function writeLongLog(directory: string, records: number): Promise<void> {
  const log = await openLog(directory, { sync: 'none' })
  const at = Date.now()
  let lsn = 1
  for (let batch: Uint8Array[] = []; lsn <= records; batch = []) {
    const firstLsn = lsn
    while (batch.length < batchRecords && lsn <= records) {
      batch.push(encodeRecord(recordAt(lsn, at + lsn, records)))
      lsn++
    }
    await log.append(firstLsn, batch)
  }
  await log.close()
}

const payload = randomBytes(64)

function recordAt(lsn: number, at: number, last: number): LogRecord {
  const own = ownRecord(lsn, at, last)
  if (own !== undefined) return own
  const step = lsn % 4
  const taskId = lsn - step
  const leaseId = taskId + 1
  switch (step) {
    case 0:
      return { type: 'TaskCreated', at, taskId, payload, executionWindowMs: 3_600_000, retryPolicy }
    case 1:
      return {
        type: 'LeaseGranted',
        at,
        taskId,
        leaseId,
        workerId: `w-${taskId % 100}`,
        attempt: 1,
        leaseExpiry: at + 30_000,
      }
    case 2:
      return { type: 'LeaseExtended', at, leaseId, newLeaseExpiry: at + 30_000 }
    default:
      return { type: 'TaskCompleted', at, taskId, leaseId }
  }
}

/** What happens to the task that is asked for: in the first three records and in the last two. */
function ownRecord(lsn: number, at: number, last: number): LogRecord | undefined {
  const taskId = taskAsked
  switch (lsn) {
    case 1:
      return { type: 'TaskCreated', at, taskId, payload, executionWindowMs: 3_600_000, retryPolicy }
    case 2:
      return {
        type: 'LeaseGranted',
        at,
        taskId,
        leaseId: 2,
        workerId: 'w-7',
        attempt: 1,
        leaseExpiry: at + 1,
      }
    case 3:
      return { type: 'LeaseExpired', at, taskId, leaseId: 2, atStart: false }
    case last - 1:
      return {
        type: 'LeaseGranted',
        at,
        taskId,
        leaseId: lsn,
        workerId: 'w-8',
        attempt: 2,
        leaseExpiry: at + 30_000,
      }
    case last:
      return { type: 'TaskCompleted', at, taskId, leaseId: lsn - 1 }
    default:
      return undefined
  }
}
