import { describe } from '@tenure/options'
import { check } from '../errors.js'

/** A number, or the same number as a decimal string: `17` or `"17"`. */
export type TaskId = number | string

const most = Number.MAX_SAFE_INTEGER
const expected = `a whole number from 1 to ${most}, as a number or a decimal string`

/** Answers contain numbers; a caller may have read the id from a URL or a database. */
export function toTaskId(name: string, given: unknown): number {
  if (typeof given !== 'string') return check.whole(name, given, 1, most)
  const id = /^[1-9]\d*$/.test(given) ? Number(given) : Number.NaN
  if (Number.isSafeInteger(id)) return id
  const isOfShard = /^\d+\.\d+$/.test(given)
  const shown = isOfShard ? `${describe(given)}, but shards are not supported yet` : describe(given)
  throw check.refusal(name, shown, expected)
}
