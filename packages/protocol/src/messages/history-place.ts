import { retryRanges } from '@tenure/options'
import type { Fields } from '../wire/fields.js'
import type { HistoryPlace } from './request.js'

/** The four fields of a place in a history: from_lsn, lease_id, retries_left, ended_lsn. */
export function placeFields(place: HistoryPlace): readonly (number | null)[] {
  const { fromLsn, leaseId = null, retriesLeft = null, endedLsn = null } = place
  return [fromLsn, leaseId, retriesLeft, endedLsn]
}

export function readPlace(fields: Fields): HistoryPlace {
  const fromLsn = fields.lsn('from_lsn')
  const leaseId = fields.optional((own) => own.lsn('lease_id'))
  const retriesLeft = fields.optional((own) => own.whole('retries_left', ...retryRanges.maxRetries))
  const endedLsn = fields.optional((own) => own.lsn('ended_lsn'))
  return {
    fromLsn,
    ...(leaseId !== undefined && { leaseId }),
    ...(retriesLeft !== undefined && { retriesLeft }),
    ...(endedLsn !== undefined && { endedLsn }),
  }
}
