import { ProtocolError } from '../errors.js'

/** A map with one key per fact, so that later versions can add keys. */
export type Facts = { readonly [name: string]: unknown }

/**
 * The fields of a message, in order. A reader's method returns the next field and ignores `value`. A writer's
 * method writes `value` and returns it. One function therefore defines a layout for both directions:
 *
 *     function passHeartbeat(fields: Fields, id: number, from?: Heartbeat): Heartbeat {
 *       return { kind: 'heartbeat', id, taskId: passLsn(fields, 'task_id', from?.taskId), ... }
 *     }
 *
 * A reader throws a ProtocolError that names the field if it has the wrong type or exceeds its limit. A
 * writer does not check limits: the peer's reader does, and reports the field.
 */
export interface Fields {
  whole(name: string, value: number | undefined, min: number, max: number): number
  /** The limits count bytes. */
  text(name: string, value: string | undefined, min: number, max: number): string
  /** A reader returns a copy: the memory of the message is reused. */
  bytes(name: string, value: Uint8Array | undefined): Uint8Array
  boolean(name: string, value: boolean | undefined): boolean
  /** Whether an optional field is present; absent fields are nil. Pass a present field next. */
  has(value: unknown): boolean
  /** In a hot message, only as the last field. */
  facts(name: string, value: Facts | undefined): Facts
  /** The fields of a list of this length. Pass all of them before the next field of this message. */
  nested(name: string, length: number): Fields
  list<T>(
    name: string,
    values: readonly T[] | undefined,
    min: number,
    max: number,
    pass: (fields: this, value: T | undefined) => T,
  ): readonly T[]
}

/** The message never repeats strings or bytes: they may be a payload or a token. */
export function wrongField(name: string, got: string, expected: string): ProtocolError {
  return new ProtocolError('PROTOCOL_BAD_MESSAGE', `${name} is ${got}; it must be ${expected}`)
}

export function isWholeOf(value: unknown, min: number, max: number): value is number {
  // Comparing an object would call its `valueOf`, and the peer chooses the keys of a map.
  return typeof value === 'number' && value >= min && value <= max && Number.isInteger(value)
}

export function isTextOf(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > max) return false
  // UTF-8 needs at most three bytes per UTF-16 unit, so a short string need not be measured.
  return value.length * 3 <= max || Buffer.byteLength(value) <= max
}

/** The expected value of a field, for error messages. */
export const expected = {
  whole: (min: number, max: number) => `a whole number from ${min} to ${max}`,
  text: (min: number, max: number) => `a string of ${min} to ${max} bytes`,
  bytes: 'bytes',
  boolean: 'true or false',
  list: (min: number, max: number) => `a list of ${min} to ${max} values`,
  map: 'a map',
}

/**
 * No message contains a fraction, and a client may disconnect when an answer has one. So the coordinator
 * throws where the answer is encoded, while the stack shows the cause. In a request, the coordinator rejects
 * a fraction.
 */
export function requireWhole(value: number): void {
  if (value >>> 0 !== value && !(Number.isSafeInteger(value) && value >= 0)) {
    throw new TypeError(`${value} cannot be encoded; use a whole number from 0 to 2^53 - 1`)
  }
}
