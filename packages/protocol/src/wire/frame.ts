import { ProtocolError } from '../errors.js'

/**
 * A frame is a length and a body:
 *
 *     | length of the body, u32, big-endian | body |
 *
 * The decoder takes bytes as they arrive, in pieces of any size, and gives whole bodies. It refuses
 * a length over the limit when it has read the length, and memory grows only as bytes arrive: an
 * announced megabyte costs nothing.
 */
export const frameHeadBytes = 4

/** What the first bytes of other protocols are as a length, which is above every limit there may be. */
const httpOpenings = [
  'HTTP',
  'GET ',
  'HEAD',
  'POST',
  'PUT ',
  'DELE',
  'OPTI',
  'PATC',
  'CONN',
  'PRI ',
]
const httpLengths = new Set(httpOpenings.map((text) => Buffer.from(text).readUInt32BE()))
/** The kind of a TLS record, a handshake or an alert, and the major version behind it. */
const tlsOpenings = new Set([0x1603, 0x1503])

/** Says it where a peer speaks something else: most likely one of the two has the wrong port. */
function describeStranger(length: number): string | undefined {
  if (httpLengths.has(length)) {
    return 'it looks like HTTP; the Tenure protocol has its own port (default 7411; HTTP uses 7412 or 7413)'
  }
  if (tlsOpenings.has(length >>> 16))
    return 'it looks like TLS; enable TLS on both sides or on neither'
  return undefined
}

/** A peer that sends byte by byte must not make us keep an object for each of them. */
const piecesMax = 1024

export class FrameDecoder {
  #bodyBytesMax: number
  #pieces: Uint8Array[] = []
  /** Where the next frame begins in the first piece. */
  #at = 0
  /** What has arrived and was not taken. */
  #bytes = 0

  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax
  }

  /** After the handshake frames may be larger. */
  allow(bodyBytesMax: number): void {
    this.#bodyBytesMax = bodyBytesMax
  }

  /** Whether a frame has begun and not ended. */
  get isInside(): boolean {
    return this.#bytes > 0
  }

  /** Takes what has arrived, to be given out by `next`. */
  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#pieces.push(bytes)
    this.#bytes += bytes.length
    if (this.#pieces.length > piecesMax) this.#join()
  }

  /**
   * Copies what has arrived and was not taken. To be called before the memory of what was pushed is used
   * again; what was pushed before the last time was kept then.
   */
  keep(): void {
    const last = this.#pieces.pop()
    if (last === undefined) return
    const from = this.#pieces.length === 0 ? this.#at : 0
    if (this.#pieces.length === 0) this.#at = 0
    this.#pieces.push(Uint8Array.prototype.slice.call(last, from))
  }

  /** The next whole body, or `undefined` when more bytes are needed. It may be a view on what was pushed. */
  next(): Uint8Array | undefined {
    if (this.#bytes < frameHeadBytes) return undefined
    const length = this.#readLength()
    if (length > this.#bodyBytesMax) {
      throw new ProtocolError(
        'PROTOCOL_FRAME_TOO_LARGE',
        describeStranger(length) ??
          `a frame of ${length} bytes; at most ${this.#bodyBytesMax} are accepted here`,
      )
    }
    if (this.#bytes < frameHeadBytes + length) return undefined
    return this.#take(frameHeadBytes + length)
  }

  #readLength(): number {
    const first = this.#pieces[0]!
    const at = this.#at
    if (first.length - at >= frameHeadBytes) {
      return first[at]! * 2 ** 24 + (first[at + 1]! << 16) + (first[at + 2]! << 8) + first[at + 3]!
    }
    return this.#readScatteredLength()
  }

  #readScatteredLength(): number {
    let length = 0
    let read = 0
    let at = this.#at
    for (const piece of this.#pieces) {
      for (; at < piece.length && read < frameHeadBytes; at++, read++) {
        length = length * 256 + piece[at]!
      }
      at = 0
    }
    return length
  }

  /** The body of a frame of so many bytes, all of which are there. */
  #take(frameBytes: number): Uint8Array {
    if (this.#pieces[0]!.length - this.#at < frameBytes) this.#join()
    const piece = this.#pieces[0]!
    const end = this.#at + frameBytes
    const body = piece.subarray(this.#at + frameHeadBytes, end)
    this.#bytes -= frameBytes
    this.#at = end
    if (end === piece.length) {
      this.#pieces.shift()
      this.#at = 0
    }
    return body
  }

  #join(): void {
    this.#pieces[0] = this.#pieces[0]!.subarray(this.#at)
    this.#at = 0
    this.#pieces = [Buffer.concat(this.#pieces, this.#bytes)]
  }
}
