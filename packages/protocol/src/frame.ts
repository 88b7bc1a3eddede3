import { ProtocolError } from './errors.js'

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

/** A peer that sends byte by byte must not make us keep an object for each of them. */
const piecesMax = 1024

export class FrameDecoder {
  #bodyBytesMax: number
  #pieces: Uint8Array[] = []
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

  /** The next whole body, or `undefined` when more bytes are needed. It may be a view on what was pushed. */
  next(): Uint8Array | undefined {
    if (this.#bytes < frameHeadBytes) return undefined
    const length = this.#readLength()
    if (length > this.#bodyBytesMax) {
      throw new ProtocolError(
        'PROTOCOL_FRAME_TOO_LARGE',
        `a frame of ${length} bytes; at most ${this.#bodyBytesMax} are accepted here`,
      )
    }
    if (this.#bytes < frameHeadBytes + length) return undefined
    return this.#take(frameHeadBytes + length).subarray(frameHeadBytes)
  }

  #readLength(): number {
    let length = 0
    let read = 0
    for (const piece of this.#pieces) {
      for (let index = 0; index < piece.length && read < frameHeadBytes; index++, read++) {
        length = length * 256 + piece[index]!
      }
      if (read === frameHeadBytes) break
    }
    return length
  }

  #take(length: number): Uint8Array {
    const first = this.#pieces[0]!
    if (first.length < length) this.#join()
    const whole = this.#pieces[0]!
    const taken = whole.subarray(0, length)
    if (whole.length === length) this.#pieces.shift()
    else this.#pieces[0] = whole.subarray(length)
    this.#bytes -= length
    return taken
  }

  #join(): void {
    this.#pieces = [Buffer.concat(this.#pieces, this.#bytes)]
  }
}
