const TWO_TO_32 = 0x1_0000_0000

/** Reads a 64-bit little-endian integer that must be below 2^53. */
export function readUint64(view: DataView, offset: number): number {
  return view.getUint32(offset + 4, true) * TWO_TO_32 + view.getUint32(offset, true)
}

/** Writes an integer below 2^53 as 64 bits, little-endian. */
export function writeUint64(view: DataView, offset: number, value: number): void {
  view.setUint32(offset, value % TWO_TO_32, true)
  view.setUint32(offset + 4, Math.floor(value / TWO_TO_32), true)
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

export function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment
}

export function alignDown(value: number, alignment: number): number {
  return Math.floor(value / alignment) * alignment
}

const zeros = new Uint8Array(64 * 1024)

/** Whether all bytes are zero. */
export function isZero(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at += zeros.length) {
    const piece = bytes.subarray(at, at + zeros.length)
    if (Buffer.compare(piece, zeros.subarray(0, piece.length)) !== 0) return false
  }
  return true
}

/** The position after the last non-zero byte, or 0 if all are zero. */
export function endOfContent(bytes: Uint8Array): number {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return end
}

export function bytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
