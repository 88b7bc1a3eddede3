import { formatDuration, type Kind, parseDuration } from '@tenure/app-kit'
import type { History, Position } from '@tenure/history'
import { showTime } from '../terminal/format.js'

/** A moment of a log as the user writes it; `beforeEndMs` counts back from the last record. */
export type NamedPosition = Position | { readonly beforeEndMs: number }

/** `17`, `2026-01-02T12:00:00Z`, `-5m`. */
export function logPosition(): Kind<NamedPosition> {
  return {
    placeholder: '<lsn|time>',
    accepted:
      'an LSN (17), a time with a zone (2026-01-02T12:00:00Z), or a duration back from the last record (-5m)',
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

/** The zone is required: without it, the time would depend on the machine. */
function parseTime(text: string): number | undefined {
  const [, day = '', time, zone] = isoTime.exec(text) ?? []
  const at = Date.parse(`${day}T${time}${zone?.toUpperCase()}`)
  const isDay = new Date(Date.parse(`${day}T00:00:00Z`) || 0).toISOString().startsWith(day)
  // Date.parse turns February 31st into a day in March.
  return Number.isNaN(at) || at < 0 || !isDay ? undefined : at
}

function formatPosition(position: NamedPosition): string {
  if ('lsn' in position) return String(position.lsn)
  return 'at' in position
    ? new Date(position.at).toISOString()
    : `-${formatDuration(position.beforeEndMs)}`
}

/** The position in this log; `undefined` is its end. */
export async function resolvePosition(
  history: History,
  position: NamedPosition | undefined,
): Promise<Position | undefined> {
  return countBack(position, async () => (await history.end()).at)
}

/** Resolves a position with the given time of the last record. */
export async function countBack(
  position: NamedPosition | undefined,
  lastAt: () => Promise<number>,
): Promise<Position | undefined> {
  if (position === undefined || !('beforeEndMs' in position)) return position
  return { at: Math.max(0, (await lastAt()) - position.beforeEndMs) }
}

export function showMoment({ lsn, at }: { readonly lsn: number; readonly at: number }): string {
  return lsn === 0 ? 'the beginning' : `LSN ${lsn}, ${showTime(at)}`
}
