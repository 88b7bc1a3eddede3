/** What a handler gave, as the bytes of a result: those of anything that is bytes, else JSON. */
export function encodeResult(value: unknown): Uint8Array | undefined {
  if (value === undefined) return undefined
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice())
  if (ArrayBuffer.isView(value))
    return own(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined) throw new TypeError(`a ${typeof value} cannot be a result`)
  return new TextEncoder().encode(json)
}

/** Bytes that share their memory with nothing: a thread would be sent all of what they are a part of. */
export function own(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}
