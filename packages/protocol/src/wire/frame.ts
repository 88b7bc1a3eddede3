import { ProtocolError } from '../errors.js'

/**
 * A frame is a length and a body:
 *
 *     | length of the body, u32, big-endian | body |
 *
 * The decoder accepts bytes in pieces of any size and returns whole bodies. It rejects a length over the
 * limit as soon as it has read the length. Memory grows only as bytes arrive, not by announced length.
 */
export const frameHeadBytes = 4

/** First bytes of HTTP, read as a length. It exceeds every possible limit. */
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
/** First bytes of a TLS record: a handshake or an alert, then the major version. */
const tlsOpenings = new Set([0x1603, 0x1503])

/** A hint if the peer speaks HTTP or TLS: most likely one side uses the wrong port. */
function describeStranger(length: number): string | undefined {
  if (httpLengths.has(length)) {
    return 'it looks like HTTP; the Tenure protocol has its own port (default 7411; HTTP uses 7412 or 7413)'
  }
  if (tlsOpenings.has(length >>> 16))
    return 'it looks like TLS; enable TLS on both sides or on neither'
  return undefined
}

/**
 * Joins the pieces beyond this many, so that a peer sending single bytes does not fill memory with objects.
 */
const piecesMax = 1024

export class FrameDecoder {
  #bodyBytesMax: number
  #pieces: Uint8Array[] = []
  /** Offset of the next frame in the first piece. */
  #at = 0
  /** Number of bytes that `next` has not returned yet. */
  #bytes = 0

  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax
  }

  /** Sets the limit for the following frames, which may be larger after the handshake. */
  allow(bodyBytesMax: number): void {
    this.#bodyBytesMax = bodyBytesMax
  }

  /** Whether bytes have arrived that `next` has not returned yet. */
  get hasUnreadBytes(): boolean {
    return this.#bytes > 0
  }

  /** Adds received bytes for `next` to return. */
  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#pieces.push(bytes)
    this.#bytes += bytes.length
    if (this.#pieces.length > piecesMax) this.#join()
  }

  /**
   * Copies the unreturned bytes of the last push. Call it before the pushed memory is reused; earlier pushes
   * were copied by earlier calls.
   */
  keep(): void {
    const last = this.#pieces.pop()
    if (last === undefined) return
    const from = this.#pieces.length === 0 ? this.#at : 0
    if (this.#pieces.length === 0) this.#at = 0
    this.#pieces.push(Uint8Array.prototype.slice.call(last, from))
  }

  /** The next whole body, or `undefined` if more bytes are needed. It may be a view of pushed memory. */
  next(): Uint8Array | undefined {
    if (this.#bytes < frameHeadBytes) return undefined
    const length = this.#readLength()
    if (length > this.#bodyBytesMax) {
      throw new ProtocolError(
        'PROTOCOL_FRAME_TOO_LARGE',
        describeStranger(length) ??
          `a frame has ${length} bytes; at most ${this.#bodyBytesMax} are accepted here`,
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

  /** Returns the body of the next frame, which has arrived completely. */
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
