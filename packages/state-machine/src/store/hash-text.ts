/** A secret of the process: two integers below 2^32. */
export type HashKey = readonly [number, number]

/**
 * HalfSipHash-1-3 over the UTF-16 units of a text, two units per word. Without the key, an attacker
 * cannot construct collisions of its 32 bits. The hash is never stored and defines no order.
 */
export function hashText(text: string, [key0, key1]: HashKey): number {
  let v0 = key0
  let v1 = key1
  let v2 = 0x6c796765 ^ key0
  let v3 = 0x74656462 ^ key1
  const rounds = (text.length >>> 1) + 1 + 3
  for (let round = 0; round < rounds; round++) {
    // The words of the text, then one with the rest and the length, then the end mark.
    const index = round * 2
    const left = text.length - index
    let word = 0
    if (left >= 2) word = text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16)
    else if (left === 1) word = text.charCodeAt(index) | (text.length << 16)
    else if (left === 0) word = text.length << 16
    else if (left === -1 || left === -2) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  return (v1 ^ v3) >>> 0
}
