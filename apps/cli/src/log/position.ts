import { formatDuration, type Kind, parseDuration } from '@tenure/app-kit'
import type { History, Position } from '@tenure/history'
import { showTime } from '../terminal/figures.js'

/** A moment of a log as somebody names it; the last form is counted back from the last record. */
export type NamedPosition = Position | { readonly beforeEndMs: number }

/** `17`, `2026-01-02T12:00:00Z`, `-5m`. */
export function logPosition(): Kind<NamedPosition> {
  return {
    placeholder: '<lsn|time>',
    accepted:
      'an LSN (17), a time with its zone (2026-01-02T12:00:00Z), or how long before the last record (-5m)',
    json: ['string', 'number'],
    parse: parsePosition,
    format: formatPosition,
  }
}

function parsePosition(text: string): NamedPosition | undefined {
  if (/^\d+$/.test(text)) {
    const lsn = Number(text)
    return Number.isSafeInteger(lsn) && lsn > 0 ? { lsn } : undefined
  }
  if (text.startsWith('-')) {
    const beforeEndMs = parseDuration(text.slice(1))
    return beforeEndMs === undefined ? undefined : { beforeEndMs }
  }
  const at = parseTime(text)
  return at === undefined ? undefined : { at }
}

const isoTime =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})$/i

/** A time without its zone would mean something else on another machine. */
function parseTime(text: string): number | undefined {
  const [, day = '', time, zone] = isoTime.exec(text) ?? []
  const at = Date.parse(`${day}T${time}${zone?.toUpperCase()}`)
  const isDay = new Date(Date.parse(`${day}T00:00:00Z`) || 0).toISOString().startsWith(day)
  // Date.parse takes the 31st of February for one of March.
  return Number.isNaN(at) || at < 0 || !isDay ? undefined : at
}

function formatPosition(position: NamedPosition): string {
  if ('lsn' in position) return String(position.lsn)
  return 'at' in position
    ? new Date(position.at).toISOString()
    : `-${formatDuration(position.beforeEndMs)}`
}

/** The moment that is meant in this log; `undefined` is its end. */
export async function resolvePosition(
  history: History,
  position: NamedPosition | undefined,
): Promise<Position | undefined> {
  return countBack(position, async () => (await history.end()).at)
}

/** The same where the time of the last record comes from elsewhere. */
export async function countBack(
  position: NamedPosition | undefined,
  lastAt: () => Promise<number>,
): Promise<Position | undefined> {
  if (position === undefined || !('beforeEndMs' in position)) return position
  return { at: Math.max(0, (await lastAt()) - position.beforeEndMs) }
}

/** Where one stands in a log. */
export function showMoment({ lsn, at }: { readonly lsn: number; readonly at: number }): string {
  return lsn === 0 ? 'the beginning' : `LSN ${lsn}, ${showTime(at)}`
}
