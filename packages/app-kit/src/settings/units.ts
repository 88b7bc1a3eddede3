/** Units with their sizes, smallest first. */
type Units = readonly (readonly [unit: string, size: number])[]

const durations: Units = [
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]

const sizes: Units = [
  ['B', 1],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
  ['TiB', 2 ** 40],
]

/** In milliseconds. Only 0 needs no unit. */
export function parseDuration(text: string): number | undefined {
  return text === '0' ? 0 : parseWithUnit(text, durations)
}

/** In bytes. A number without a unit counts bytes. */
export function parseBytes(text: string): number | undefined {
  return parseWhole(text) ?? parseWithUnit(text, sizes)
}

export function parseWhole(text: string): number | undefined {
  const value = /^-?\d+$/.test(text) ? Number(text) : undefined
  return Number.isSafeInteger(value) ? value : undefined
}

export function formatDuration(ms: number): string {
  return formatWithUnit(ms, durations)
}

/** Rounds a long limit down to whole days, which are easier to read than milliseconds. */
export function formatLongestDuration(ms: number): string {
  const [, day] = durations.at(-1)!
  return formatDuration(ms > day ? ms - (ms % day) : ms)
}

export function formatBytes(bytes: number): string {
  return formatWithUnit(bytes, sizes)
}

function parseWithUnit(text: string, units: Units): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?) ?([A-Za-z]+)$/.exec(text) ?? []
  const size = units.find(([name]) => name === unit)?.[1]
  if (amount === undefined || size === undefined) return undefined
  const value = Number(amount) * size
  return Number.isSafeInteger(value) ? value : undefined
}

/** Uses the largest unit that needs no fraction. */
function formatWithUnit(value: number, units: Units): string {
  const [unit, size] = units.findLast(([, size]) => value > 0 && value % size === 0) ?? units[0]!
  return `${value / size}${unit}`
}
