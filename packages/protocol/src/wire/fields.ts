import { ProtocolError } from '../errors.js'

/**
 * Passes the fields of a message, one after the other, in or out. Reading, a method gives what stands
 * there and ignores `value`; writing, it writes `value` and gives it back. So one function tells the
 * layout of a message for both, and neither can drift from the other:
 *
 *     function passHeartbeat(fields: Fields, id: number, from?: Heartbeat): Heartbeat {
 *       return { kind: 'heartbeat', id, taskId: passLsn(fields, 'task_id', from?.taskId), ... }
 *     }
 *
 * A reader refuses a field of another kind or over its limit with a ProtocolError that has its name. A
 * writer does not look at limits: the reader judges, and says what is wrong.
 */
export interface Fields {
  whole(name: string, value: number | undefined, min: number, max: number): number
  /** The limits count bytes. */
  text(name: string, value: string | undefined, min: number, max: number): string
  /** A reader gives bytes of their own: the memory a message came in is used again. */
  bytes(name: string, value: Uint8Array | undefined): Uint8Array
  boolean(name: string, value: boolean | undefined): boolean
  /** Whether an optional field is there and is to be passed next. It is nil where it is absent. */
  has(value: unknown): boolean
  /** The fields of a list of this length. They are all to be passed before the next field of this one. */
  nested(name: string, length: number): Fields
  list<T>(
    name: string,
    values: readonly T[] | undefined,
    min: number,
    max: number,
    pass: (fields: this, value: T | undefined) => T,
  ): readonly T[]
}

/** What a field refuses says its name, but repeats no text and no bytes: they may be a payload or a token. */
export function wrongField(name: string, got: string, expected: string): ProtocolError {
  return new ProtocolError('PROTOCOL_BAD_MESSAGE', `${name} is ${got}; it must be ${expected}`)
}

export function isWholeOf(value: unknown, min: number, max: number): value is number {
  // A comparison would call the methods of an object, and a peer can name a key `valueOf`.
  return typeof value === 'number' && value >= min && value <= max && Number.isInteger(value)
}

export function isTextOf(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > max) return false
  // No text takes more than three bytes a unit, so a short one need not be measured.
  return value.length * 3 <= max || Buffer.byteLength(value) <= max
}

/** What a field is held to, in words. */
export const expected = {
  whole: (min: number, max: number) => `a whole number from ${min} to ${max}`,
  text: (min: number, max: number) => `a text of ${min} to ${max} bytes`,
  bytes: 'bytes',
  boolean: 'true or false',
  list: (min: number, max: number) => `a list of ${min} to ${max} values`,
  map: 'a map',
}

/**
 * No message has a number that is not whole, and a client may hang up when an answer has one. So an
 * answer fails where the stack still says what made it; a request is refused by the coordinator.
 */
export function requireWhole(value: number): void {
  if (value >>> 0 !== value && !(Number.isSafeInteger(value) && value >= 0)) {
    throw new TypeError(`${value} cannot be encoded; use a whole number from 0 to 2^53 - 1`)
  }
}
