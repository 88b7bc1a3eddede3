/** How long to stay away from endpoints that cannot be reached. */
export interface Backoff {
  readonly initialMs: number
  readonly maxMs: number
}

/**
 * The pause before round `round` (the first is 0): doubling up to the maximum, and by chance between
 * half of that and all of it, so that many clients of one restarted coordinator do not come at once.
 */
export function backoffMs({ initialMs, maxMs }: Backoff, round: number, chance: number): number {
  const full = Math.min(maxMs, initialMs * 2 ** Math.min(round, 50))
  return (full / 2) * (1 + chance)
}
