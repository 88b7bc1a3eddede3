/** Counts by name. Plain data, so that threads can exchange it. */
export type Counts = Record<string, number>

export function addCounts(counts: Counts, more: Readonly<Counts>): void {
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count
}

export function sumOfCounts(counts: Readonly<Counts>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

/**
 * Groups the values by key, in the order in which the keys first occur. Replaces `Map.groupBy` of Node 21.
 */
export function groupBy<T, K>(values: Iterable<T>, keyOf: (value: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const value of values) {
    const key = keyOf(value)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}
