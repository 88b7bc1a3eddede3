/** The effect of a power loss. Each unsynced sector and name may be kept or lost; a policy decides. */

export type PendingChange =
  | {
      readonly kind: 'sector'
      /** Index of the call that made the change. */
      readonly call: number
      readonly path: string
      readonly sector: number
    }
  | {
      /** The new file size. If it is lost, data after the old end is not visible. */
      readonly kind: 'size'
      readonly call: number
      readonly path: string
      readonly size: number
    }
  | {
      readonly kind: 'rename' | 'rename-directory'
      readonly call: number
      readonly path: string
      readonly to: string
    }
  | {
      readonly kind: 'create' | 'remove' | 'create-directory' | 'remove-directory'
      readonly call: number
      readonly path: string
    }

/**
 * The policy of a power loss.
 *
 * - `keep-none`: keeps only synced changes.
 * - `keep-all`: keeps everything, as if it had been synced in time.
 * - `random`: decides each pending change. The odds change with each call, so that whole calls survive or
 * vanish often enough.
 * - `keep`: the test decides. Changes come oldest first, and by sector within a write.
 */
export type PowerLossPolicy =
  | 'keep-none'
  | 'keep-all'
  | { readonly random: { next(): number } }
  | { readonly keep: (change: PendingChange, index: number) => boolean }

const odds = [0, 0.1, 0.5, 0.9, 1] as const

export function decideBy(
  policy: PowerLossPolicy,
): (change: PendingChange, index: number) => boolean {
  if (policy === 'keep-none') return () => false
  if (policy === 'keep-all') return () => true
  if ('keep' in policy) return policy.keep
  const { random } = policy
  let call: number | undefined
  let chance = 0
  return (change) => {
    if (change.call !== call) {
      call = change.call
      chance = odds[Math.floor(random.next() * odds.length)] ?? 0
    }
    return random.next() < chance
  }
}

/**
 * Every subset of `count` things, from none to all. Each is a function that says whether the thing at an
 * index is kept.
 */
export function* subsets(count: number): Generator<(index: number) => boolean> {
  if (count > 30) throw new RangeError(`2 ** ${count} subsets are too many; use at most 30 things`)
  for (let mask = 0; mask < 2 ** count; mask++) yield (index) => ((mask >>> index) & 1) === 1
}
