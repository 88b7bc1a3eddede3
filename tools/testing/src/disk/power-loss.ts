/**
 * What a power loss leaves. Whatever no sync has brought to the medium may be there or not, sector
 * by sector and name by name; a policy says which.
 */

export type PendingChange =
  | {
      readonly kind: 'sector'
      /** The index of the call that made the change. */
      readonly call: number
      readonly path: string
      readonly sector: number
    }
  | {
      /** The file reaches this far. Without it, what was written behind its end is not seen. */
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
 * - `keep-none`: only what was synced.
 * - `keep-all`: as if everything had been synced in time.
 * - `random`: every pending change by itself; the odds are drawn anew for each call, so that whole
 *   calls survive or vanish often enough beside those that are torn.
 * - `keep`: the test decides. The changes come oldest first, and within a write by sector.
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
 * Every way to keep some of `count` things: each is a function that tells whether the thing at an
 * index is kept. From none to all, 2 ** count of them.
 */
export function* subsets(count: number): Generator<(index: number) => boolean> {
  if (count > 30) throw new RangeError(`2 ** ${count} subsets are too many to go through`)
  for (let mask = 0; mask < 2 ** count; mask++) yield (index) => ((mask >>> index) & 1) === 1
}
