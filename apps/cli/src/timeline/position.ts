import type { Kind } from '@tenure/app-kit'
import type { Position } from '@tenure/history'

/** An LSN, or a time: `17`, `2026-01-02T12:00:00Z`. */
export function position(): Kind<Position> {
  return {
    placeholder: '<lsn|time>',
    accepted: 'an LSN (17) or a time (2026-01-02T12:00:00Z; without a zone it is UTC)',
    json: ['string', 'number'],
    parse: (given) => (/^\d+$/.test(given) ? parseLsn(given) : parseTime(given)),
    format: (value) => ('lsn' in value ? String(value.lsn) : new Date(value.at).toISOString()),
  }
}

function parseLsn(given: string): Position | undefined {
  const lsn = Number(given)
  return lsn >= 1 && Number.isSafeInteger(lsn) ? { lsn } : undefined
}

const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/

function parseTime(given: string): Position | undefined {
  const [whole, ofDay, , , zone] = time.exec(given.replace(' ', 'T')) ?? []
  if (whole === undefined) return undefined
  const at = Date.parse(ofDay !== undefined && zone === undefined ? `${whole}Z` : whole)
  return Number.isNaN(at) ? undefined : { at }
}
