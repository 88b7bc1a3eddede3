import type { Random } from '@tenure/testing'

/** Numbers on both sides of each change of encoding. */
const edges = [
  ...[0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32],
  ...[2 ** 45, 2 ** 50, 2 ** 52 - 1],
]

export function whole(random: Random, min: number, max: number): number {
  const fitting = [min, max, ...edges.filter((edge) => edge >= min && edge <= max)]
  if (random.chance(0.5)) return random.pick(fitting)
  const reach = random.chance(0.5) ? 1000 : Number.MAX_SAFE_INTEGER
  return min + random.integer(Math.max(1, Math.min(max - min, reach)))
}

/** Includes a byte order mark, NUL and escape characters, which are ordinary parts of a text. */
const letters = ['a', 'a', 'b', '1', '-', 'é', '☂', '💥', '\0', '\ufeff', '"', '\\', '\n']
const lengths = [0, 1, 3, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 4095, 4096]

export function text(random: Random, bytesMin: number, bytesMax: number): string {
  const length = random.pick(lengths.filter((length) => length >= bytesMin && length <= bytesMax))
  const letter = random.pick(letters)
  let made = ''
  let bytes = 0
  while (bytes < length) {
    const next = random.chance(0.9) ? letter : random.pick(letters)
    bytes += Buffer.byteLength(next)
    if (bytes <= bytesMax) made += next
  }
  return made.length < bytesMin ? 'a'.repeat(bytesMin) : made
}

export function bytes(random: Random): Uint8Array {
  return random.bytes(random.pick([0, 1, 3, 31, 32, 100, 255, 256, 300]))
}

/** The field, or no field. */
export function maybe<K extends string, V>(
  random: Random,
  name: K,
  make: () => V,
): { readonly [Name in K]?: V } {
  return random.chance(0.5) ? ({ [name]: make() } as { [Name in K]?: V }) : {}
}
