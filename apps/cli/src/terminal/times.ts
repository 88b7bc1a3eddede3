/** A moment as log lines have it. */
export function showTime(atMs: number): string {
  return new Date(atMs).toISOString().replace('T', ' ')
}

/** How long something took, to three figures or so. */
export function showSpan(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 7_200_000) return `${(ms / 60_000).toFixed(1)} min`
  if (ms < 172_800_000) return `${(ms / 3_600_000).toFixed(1)} h`
  return `${(ms / 86_400_000).toFixed(1)} d`
}

/** The same where there are many of them, and a second is fine enough. */
export function showSecond(atMs: number): string {
  return showTime(atMs).replace(/\.\d+/, '')
}

/** How long ago something was. The clocks of two machines may differ: nothing is in the future. */
export function showAge(atMs: number, now: number): string {
  return `${showSpan(Math.max(0, now - atMs))} ago`
}
