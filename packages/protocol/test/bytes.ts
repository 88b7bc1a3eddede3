import { Packr } from 'msgpackr'

const packr = new Packr({ useRecords: false })

/** The body of a message with these values, valid or not. */
export function bodyOf(...values: unknown[]): Buffer {
  return Buffer.from(packr.pack(values))
}

/** A frame with this body. */
export function frameOf(body: Uint8Array): Buffer {
  const frame = Buffer.alloc(4 + body.length)
  frame.writeUInt32BE(body.length)
  frame.set(body, 4)
  return frame
}

/** The body of a frame. */
export function unframe(frame: Buffer): Buffer {
  return frame.subarray(4)
}

export function fromHex(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex')
}

/** Replaces Buffers by plain `Uint8Array`s, for comparisons. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Uint8Array.from(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, plain(own)]))
}
