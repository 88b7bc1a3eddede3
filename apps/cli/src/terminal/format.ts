const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** `1,234,567`. */
export function showCount(count: number): string {
  return grouped.format(count)
}

/** `1 task`, `2 tasks`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${showCount(count)} ${count === 1 ? one : many}`
}

/** A rate per second, with a fraction below 10. */
export function showRate(count: number, ms: number): string {
  const rate = ms > 0 ? (count * 1000) / ms : 0
  return `${rate > 0 && rate < 10 ? rate.toFixed(1) : showCount(rate)}/s`
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

export function showSize(bytes: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const amount = bytes / 1024 ** power
  return `${power === 0 ? amount : amount.toFixed(1)} ${units[power]}`
}

/** A time in UTC with milliseconds. */
export function showTime(atMs: number): string {
  return new Date(atMs).toISOString().replace('T', ' ')
}

export function showDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 7_200_000) return `${(ms / 60_000).toFixed(1)} min`
  if (ms < 172_800_000) return `${(ms / 3_600_000).toFixed(1)} h`
  return `${(ms / 86_400_000).toFixed(1)} d`
}

/** A time in UTC without milliseconds. */
export function showSecond(atMs: number): string {
  return showTime(atMs).replace(/\.\d+/, '')
}

/** At least 0: the clocks of two machines may differ. */
export function showAge(atMs: number, now: number): string {
  return `${showDuration(Math.max(0, now - atMs))} ago`
}
