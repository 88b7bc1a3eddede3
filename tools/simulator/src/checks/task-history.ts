import type { Answer, Request } from '@tenure/protocol'
import { encodeRecord, type LogRecord } from '@tenure/state-machine'

type Asked = Extract<Request, { readonly kind: 'history' }>
type Answered = Extract<Answer, { readonly kind: 'history' }>

/** How far the log is known that a page was read from. */
interface Extent {
  /** Where it ended. */
  readonly lastLsn: number
  /** A checkpoint covers it up to there at most, so that no record behind may have been removed. */
  readonly coveredLsn: number
}

/** A record that concerns the task. */
interface Concern {
  readonly lsn: number
  readonly record: LogRecord
  /** A log that has lost this one does not tell whom the record is about. */
  readonly knownByLsn: number
}

/**
 * Whether a page holds every record about its task, and nothing else, in their order: from where it was
 * asked to begin, or the log did, to where the next page goes on, or the log ended.
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

/** A LeaseExtended names its lease alone, whose id is the LSN of its grant; a TasksForgotten names nobody. */
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
