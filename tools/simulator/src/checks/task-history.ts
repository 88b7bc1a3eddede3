import type { Answer, Request } from '@tenure/protocol'
import { encodeRecord, type LogRecord } from '@tenure/state-machine'

type Asked = Extract<Request, { readonly kind: 'history' }>
type Answered = Extract<Answer, { readonly kind: 'history' }>

/** The known part of the log from which a page was read. */
interface Extent {
  /** The last LSN of the log. */
  readonly lastLsn: number
  /** A checkpoint covers at most this LSN, so no later record was removed. */
  readonly coveredLsn: number
}

/** A record about the task. */
interface Concern {
  readonly lsn: number
  readonly record: LogRecord
  /** If the log no longer has this record, it does not show whose record this is. */
  readonly knownByLsn: number
}

/**
 * Whether a page holds exactly the records about its task, in order: from the requested LSN or the
 * start of the log, up to the next page or the end of the log.
 */
export function agreesHistory(
  { taskId, fromLsn }: Asked,
  { firstLsn, records: found, next }: Answered,
  { lastLsn, coveredLsn }: Extent,
  records: readonly LogRecord[],
): boolean {
  if (firstLsn > coveredLsn + 1) return false
  if (next !== undefined && (found.length === 0 || next.fromLsn > lastLsn)) return false
  const beginLsn = Math.max(fromLsn, firstLsn)
  const endLsn = next?.fromLsn ?? lastLsn + 1
  const lsns = new Set(found.map(({ lsn }) => lsn))
  const expected = concernsOf(taskId, records.slice(0, endLsn - 1)).filter(
    ({ lsn, knownByLsn }) => lsn >= beginLsn && (knownByLsn >= firstLsn || lsns.has(lsn)),
  )
  return (
    expected.length === found.length &&
    expected.every(({ lsn, record }, index) => {
      const { lsn: foundLsn, bytes } = found[index]!
      return foundLsn === lsn && Buffer.compare(bytes, encodeRecord(record)) === 0
    })
  )
}

/**
 * A LeaseExtended names only its lease, whose id is the LSN of its grant; a TasksForgotten names no
 * task.
 */
function concernsOf(taskId: number, records: readonly LogRecord[]): Concern[] {
  const concerns: Concern[] = []
  const created = records[taskId - 1]
  let retriesLeft = created?.type === 'TaskCreated' ? created.retryPolicy.maxRetries : 0
  let endedLsn = Number.POSITIVE_INFINITY
  for (const [index, record] of records.entries()) {
    const lsn = index + 1
    if (record.type === 'TasksForgotten') {
      if (record.through < endedLsn) continue
      concerns.push({ lsn, record, knownByLsn: taskId })
      break
    }
    const knownByLsn = record.type === 'LeaseExtended' ? record.leaseId : lsn
    const naming = records[knownByLsn - 1]
    if (naming === undefined || !('taskId' in naming) || naming.taskId !== taskId) continue
    concerns.push({ lsn, record, knownByLsn })
    const isLastFailure = record.type === 'TaskFailed' && retriesLeft-- === 0
    if (isLastFailure || record.type === 'TaskCompleted' || record.type === 'TaskDead') {
      endedLsn = lsn
    }
  }
  return concerns
}
