/** The middle value; of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b)
  if (sorted.length === 0) return Number.NaN
  const upper = sorted[Math.floor(sorted.length / 2)]!
  const lower = sorted[Math.floor((sorted.length - 1) / 2)]!
  return (lower + upper) / 2
}
