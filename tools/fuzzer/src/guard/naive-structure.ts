import { isUtf8 } from 'node:buffer'
import type { StructureLimits } from '@tenure/protocol/internal'

/**
 * Whether the bytes are one MessagePack value that messages may contain. An independent
 * implementation: it follows the MessagePack specification table by table, keeps a list of expected
 * values, and shares no code with the shipped guard.
 */
export function isSoundStructure(bytes: Uint8Array, limits: StructureLimits): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  /** Expected values, the next one last: their depth, and whether they are keys. */
  const awaited: { readonly depth: number; readonly isKey: boolean }[] = [
    { depth: 0, isKey: false },
  ]
  let at = 0
  let values = 0
  for (let next = awaited.pop(); next !== undefined; next = awaited.pop()) {
    values++
    if (values > limits.valuesMax || at >= bytes.length) return false
    const found = look(view, at)
    if (found === undefined || (next.isKey && found.kind !== 'text')) return false
    const { kind, head, content, count } = found
    if (head + content > bytes.length - at) return false
    if (kind === 'text' && !isUtf8(bytes.subarray(at + head, at + head + content))) return false
    at += head + content
    if (kind !== 'list' && kind !== 'map') continue
    if (next.depth >= limits.depthMax) return false
    const own = kind === 'map' ? 2 * count : count
    // Each value has at least one byte, so a longer list than the remaining bytes is invalid.
    if (own > bytes.length - at) return false
    // The last one pushed is read next: in a map, that is a key.
    for (let left = own; left > 0; left--) {
      awaited.push({ depth: next.depth + 1, isKey: kind === 'map' && left % 2 === 1 })
    }
  }
  return at === bytes.length
}

interface Found {
  readonly kind: 'other' | 'text' | 'list' | 'map'
  /** Length of the head, length of the content after it, and number of values after that. */
  readonly head: number
  readonly content: number
  readonly count: number
}

const fixedSizes: Readonly<Record<number, number>> = {
  192: 0,
  194: 0,
  195: 0,
  202: 4,
  203: 8,
  204: 1,
  205: 2,
  206: 4,
  207: 8,
  208: 1,
  209: 2,
  210: 4,
  211: 8,
}

const sizedHeads: Readonly<Record<number, readonly [kind: 'bin' | Found['kind'], width: number]>> =
  {
    196: ['bin', 1],
    197: ['bin', 2],
    198: ['bin', 4],
    217: ['text', 1],
    218: ['text', 2],
    219: ['text', 4],
    220: ['list', 2],
    221: ['list', 4],
    222: ['map', 2],
    223: ['map', 4],
  }

function look(view: DataView, at: number): Found | undefined {
  const first = view.getUint8(at)
  if (first < 0x80 || first >= 0xe0) return { kind: 'other', head: 1, content: 0, count: 0 }
  if (first < 0x90) return { kind: 'map', head: 1, content: 0, count: first - 0x80 }
  if (first < 0xa0) return { kind: 'list', head: 1, content: 0, count: first - 0x90 }
  if (first < 0xc0) return { kind: 'text', head: 1, content: first - 0xa0, count: 0 }
  const fixed = fixedSizes[first]
  if (fixed !== undefined) return { kind: 'other', head: 1, content: fixed, count: 0 }
  const [kind, width] = sizedHeads[first] ?? []
  if (kind === undefined || width === undefined || at + 1 + width > view.byteLength)
    return undefined
  const length =
    width === 1
      ? view.getUint8(at + 1)
      : width === 2
        ? view.getUint16(at + 1)
        : view.getUint32(at + 1)
  const head = 1 + width
  if (kind === 'bin') return { kind: 'other', head, content: length, count: 0 }
  if (kind === 'text') return { kind, head, content: length, count: 0 }
  return { kind, head, content: 0, count: length }
}
