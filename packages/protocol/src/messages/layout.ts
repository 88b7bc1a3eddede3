import type { Fields } from '../wire/fields.js'
import type { ListedFields } from '../wire/listed-fields.js'

/** A message under an id, of a kind. */
export interface Message {
  readonly kind: string
  readonly id: number
}

/** What is to be encoded. Its id may be given beside it. */
export type Unnumbered<M> = M extends Message ? Omit<M, 'id'> : never

/** How one kind of message stands in MessagePack: a list that begins with its type and its id. */
export type Layout<M extends Message> = HotLayout<M> | RareLayout<M>

/** Frequent: read from the bytes and written to them field by field. */
export interface HotLayout<M extends Message> extends Head {
  readonly isHot: true
  pass(fields: Fields, id: number, from?: Unnumbered<M>): M
}

/** Rare: its values are read and written by msgpackr. */
export interface RareLayout<M extends Message> extends Head {
  readonly isHot: false
  pass(fields: ListedFields, id: number, from?: Unnumbered<M>): M
}

interface Head {
  readonly kind: string
  /** The type. */
  readonly number: number
  /** How many values there are, the type and the id among them. */
  readonly length: number
}

/** `pass` passes what stands after the id: it reads it, or writes what `from` has. */
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

/** A message whose optional fields are still to come. */
export type Building<M> = { -readonly [K in keyof M]: M[K] }

export function passLsn(fields: Fields, name: string, value: number | undefined): number {
  return fields.whole(name, value, 1, Number.MAX_SAFE_INTEGER)
}
