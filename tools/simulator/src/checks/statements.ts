import type { LogRecord } from '@tenure/state-machine'
import { NaiveModel } from '@tenure/testing'
import { holds } from '../violation.js'
import type { Statement } from '../world/wire.js'
import { agrees } from './agreement.js'

const check = 'every answer matches the log'

/**
 * The history check: the naive model replays the log, and each answer must be true at some record
 * between its request and its arrival.
 */
export function checkStatements(
  statements: readonly Statement[],
  records: readonly LogRecord[],
): void {
  const answered = statements.filter((statement) => statement.answer !== undefined)
  const byStart = [...answered].sort((a, b) => a.fromLsn - b.fromLsn)
  const model = new NaiveModel()
  let open: Statement[] = []
  for (let lsn = 0; lsn <= records.length; lsn++) {
    if (lsn > 0) model.apply(lsn, records[lsn - 1]!)
    while (byStart[0]?.fromLsn === lsn) open.push(byStart.shift()!)
    open = open.filter((statement) => !agrees(model, statement, records))
    const wrong = open.find(({ toLsn }) => toLsn === lsn)
    holds(wrong === undefined, check, () => describeStatement(wrong!))
  }
  checkGrants(answered)
}

/** A lease is given to one request. */
function checkGrants(answered: readonly Statement[]): void {
  const leases = new Set<number>()
  for (const { answer } of answered) {
    if (answer?.kind !== 'leased') continue
    holds(!leases.has(answer.leaseId), 'a lease is granted once', () => `lease ${answer.leaseId}`)
    leases.add(answer.leaseId)
  }
}

function describeStatement({ who, request, answer, fromLsn, toLsn }: Statement): string {
  const text = (value: unknown) =>
    JSON.stringify(value, (_, field: unknown) =>
      field instanceof Uint8Array ? `${field.length} bytes` : field,
    )
  return `${who} sent ${text(request)} and got ${text(answer)}, which is not true at any LSN from ${fromLsn} to ${toLsn}`
}
