/** Messages are slices of pieces of this size, so that a small message needs no allocation of its own. */
const pieceBytes = 16 * 1024

/** Maximum size of a number, or of the head of a string. */
const headBytesMax = 9

/**
 * Writes messages of MessagePack values in the form that `ValueReader` accepts: each value in its shortest
 * form. The caller owns the returned messages; the writer never overwrites them.
 *
 * Numbers outside 0 to 2^53 - 1 and fractions are written as they are, although `ValueReader` rejects them,
 * so that a reader can report the value.
 */
export class ValueWriter {
  #piece: Buffer = empty
  /** Writes numbers: the methods of a Buffer spend more time checking their arguments. */
  #view = viewOf(empty)
  /** Start of the current message. `#at` is where the next value goes. */
  #start = 0
  #at = 0

  /** Starts a message and drops an unfinished one. Leaves `headBytes` free for the caller to fill in. */
  begin(headBytes = 0): void {
    this.#at = this.#start
    this.#reserve(headBytes)
    this.#at += headBytes
  }

  end(): Buffer {
    const message = this.#piece.subarray(this.#start, this.#at)
    this.#start = this.#at
    // A piece allocated for a large message is not kept for small ones.
    if (this.#piece.length > pieceBytes) this.#usePiece(empty)
    return message
  }

  list(length: number): void {
    this.#reserve(headBytesMax)
    if (length < 0x10) this.#piece[this.#at++] = 0x90 | length
    else this.#countedHead(0xdc, length)
  }

  nil(): void {
    this.#byte(0xc0)
  }

  boolean(value: boolean): void {
    this.#byte(value ? 0xc3 : 0xc2)
  }

  number(value: number): void {
    this.#reserve(headBytesMax)
    if (value >>> 0 === value) this.#whole(value)
    else {
      this.#piece[this.#at] = 0xcb
      this.#view.setFloat64(this.#at + 1, value)
      this.#at += 9
    }
  }

  /** Throws a TypeError for a string with a lone surrogate: it has no UTF-8 encoding. */
  text(value: string): void {
    const { length } = value
    if (length < 0x20 && this.#shortAscii(value)) return
    if (!value.isWellFormed())
      throw new TypeError('a string contains a lone surrogate; use well-formed Unicode')
    const bytes = Buffer.byteLength(value)
    this.#reserve(headBytesMax + bytes)
    if (bytes < 0x20) this.#piece[this.#at++] = 0xa0 | bytes
    else this.#sizedHead(0xd9, bytes)
    this.#at += this.#piece.write(value, this.#at)
  }

  bytes(value: Uint8Array): void {
    this.#reserve(headBytesMax + value.length)
    this.#sizedHead(0xc4, value.length)
    this.#piece.set(value, this.#at)
    this.#at += value.length
  }

  /** Writes a value that is already encoded. */
  encoded(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#piece.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /**
   * Writes a number, string, boolean or bytes, nil for `null` and `undefined`, or a list of these. Throws a
   * TypeError for anything else.
   */
  value(value: unknown): void {
    switch (typeof value) {
      case 'number':
        this.number(value)
        break
      case 'string':
        this.text(value)
        break
      case 'boolean':
        this.boolean(value)
        break
      case 'undefined':
        this.nil()
        break
      case 'object':
        this.#object(value)
        break
      default:
        throw new TypeError(`a ${typeof value} cannot be written as MessagePack`)
    }
  }

  #object(value: object | null): void {
    if (value === null) this.nil()
    else if (value instanceof Uint8Array) this.bytes(value)
    else if (Array.isArray(value)) {
      this.list(value.length)
      for (const entry of value) this.value(entry)
    } else
      throw new TypeError('an object cannot be written as MessagePack; only lists and bytes can')
  }

  #byte(byte: number): void {
    this.#reserve(1)
    this.#piece[this.#at++] = byte
  }

  #whole(value: number): void {
    if (value < 0x80) this.#piece[this.#at++] = value
    else if (value < 0x100) this.#head(0xcc, 1, value)
    else if (value < 0x1_0000) this.#head(0xcd, 2, value)
    else this.#head(0xce, 4, value)
  }

  /**
   * `first` is the head for a two-byte length, `first + 1` the one for four bytes. `ValueReader` accepts no
   * list with the second.
   */
  #countedHead(first: number, length: number): void {
    if (length < 0x1_0000) this.#head(first, 2, length)
    else this.#head(first + 1, 4, length)
  }

  /** `first` is the head for a one-byte length; the next two are for two and four bytes. */
  #sizedHead(first: number, length: number): void {
    if (length < 0x100) this.#head(first, 1, length)
    else if (length < 0x1_0000) this.#head(first + 1, 2, length)
    else this.#head(first + 2, 4, length)
  }

  #head(head: number, width: 1 | 2 | 4, value: number): void {
    const at = this.#at
    this.#piece[at] = head
    if (width === 1) this.#piece[at + 1] = value
    else if (width === 2) this.#view.setUint16(at + 1, value)
    else this.#view.setUint32(at + 1, value)
    this.#at = at + 1 + width
  }

  /**
   * Most strings are names of a few letters. For these a call into the engine costs more than copying here.
   */
  #shortAscii(value: string): boolean {
    const { length } = value
    this.#reserve(1 + length)
    const piece = this.#piece
    const at = this.#at + 1
    for (let index = 0; index < length; index++) {
      const unit = value.charCodeAt(index)
      if (unit >= 0x80) return false
      piece[at + index] = unit
    }
    piece[this.#at] = 0xa0 | length
    this.#at = at + length
    return true
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#piece.length) return
    const begun = this.#piece.subarray(this.#start, this.#at)
    const needed = begun.length + bytes
    // Twice the needed size, so that a growing message is not copied for each value.
    this.#usePiece(Buffer.allocUnsafeSlow(Math.max(pieceBytes, 2 * needed)))
    this.#piece.set(begun)
    this.#at = begun.length
  }

  #usePiece(piece: Buffer): void {
    this.#piece = piece
    this.#view = viewOf(piece)
    this.#start = 0
    this.#at = 0
  }
}

const empty = Buffer.alloc(0)

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
