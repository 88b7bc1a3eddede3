import type { Fields } from '../wire/fields.js'
import type { ListedFields } from '../wire/listed-fields.js'

/** A message with its kind and id. */
export interface Message {
  readonly kind: string
  readonly id: number
}

/** A message without its id. */
export type Unnumbered<M> = M extends Message ? Omit<M, 'id'> : never

/** The layout of one kind of message: a MessagePack list that begins with the type and the id. */
export type Layout<M extends Message> = HotLayout<M> | RareLayout<M>

/** The layout of a frequent message. `TypedReader` and `TypedWriter` pass its fields. */
export interface HotLayout<M extends Message> extends Head {
  readonly isHot: true
  pass(fields: Fields, id: number, from?: Unnumbered<M>): M
}

/** The layout of a rare message. msgpackr reads and writes its values. */
export interface RareLayout<M extends Message> extends Head {
  readonly isHot: false
  pass(fields: ListedFields, id: number, from?: Unnumbered<M>): M
}

interface Head {
  readonly kind: string
  /** The type on the wire. */
  readonly number: number
  /** Number of values, including the type and the id. */
  readonly length: number
}

/** `pass` reads the fields after the id, or writes those of `from`. */
export function hot<M extends Message>(
  kind: M['kind'],
  number: number,
  length: number,
  pass: HotLayout<M>['pass'],
): HotLayout<M> {
  return { kind, number, length, isHot: true, pass }
}

export function rare<M extends Message>(
  kind: M['kind'],
  number: number,
  length: number,
  pass: RareLayout<M>['pass'],
): RareLayout<M> {
  return { kind, number, length, isHot: false, pass }
}

/** Allows the optional fields to be set one after the other. */
export type Mutable<M> = { -readonly [K in keyof M]: M[K] }

export function passLsn(fields: Fields, name: string, value: number | undefined): number {
  return fields.whole(name, value, 1, Number.MAX_SAFE_INTEGER)
}
