import type { KnownAttempt } from './known-attempts.js'

// How numbers, times and names are written in sentences.

/** A duration with about three significant digits. */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 7_200_000) return `${(ms / 60_000).toFixed(1)} min`
  if (ms < 172_800_000) return `${(ms / 3_600_000).toFixed(1)} h`
  return `${(ms / 86_400_000).toFixed(1)} d`
}

export function moment(at: number): string {
  return new Date(at).toISOString().replace('T', ' ')
}

export function times(count: number): string {
  return ['never', 'once', 'twice'][count] ?? `${count} times`
}

export function ordinal(count: number): string {
  const isTeen = Math.floor((count % 100) / 10) === 1
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th')
  return ['', 'first', 'second', 'third'][count] ?? `${count}${ending}`
}

export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** `lease 17 of worker w-1` */
export function leaseOf({ leaseId, workerId }: Pick<KnownAttempt, 'leaseId' | 'workerId'>): string {
  return workerId === undefined ? `lease ${leaseId}` : `lease ${leaseId} of worker ${workerId}`
}

/** The start of a reason, in quotes. Empty for an empty reason. */
export function quoted(reason: string): string {
  const [line = ''] = reason.split(/\r?\n/, 1)
  if (line === '') return ''
  const isWhole = line === reason && line.length <= longest
  return isWhole ? `“${line}”` : `“${line.slice(0, longest - 1)}…”`
}

const longest = 60
