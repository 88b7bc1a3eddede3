import type { DecodedEntry, Fate, Passage } from '@tenure/shared-log'
import { holds } from '../violation.js'

/** A coordinator's knowledge of the shared log: its last entry read, and when it was last heard of. */
interface Reader {
  readonly sinceMs: number
  /** An append of the life before may still arrive. */
  readonly formerEndMs: number
  /** The last entry that it has read, when, and whether it had read everything before. */
  seq: number
  heardMs: number
  isLive: boolean
  /** The last answer about the log's end. */
  range: { readonly last: number; readonly askedMs: number } | undefined
  asked: { readonly last: number; readonly askedMs: number } | undefined
  /** The last question about the end was not answered. */
  isRangeUnknown: boolean
}

interface Stored {
  readonly entry: DecodedEntry
  readonly atMs: number
}

/** Clocks of machines differ by at most this much. */
const rateMax = 1.005
const check = 'a take-over moves no time'
/** An append arrives at most this late. */
const lateMsMax = 6000
/** A process that runs for this long has been asked by every take-over that began since. */
const settledMs = 3000

/**
 * A standby takes over after a silence, of an engine that has told it so, and its time goes on from
 * the entry before.
 */
export class TakeOvers {
  readonly #nowMs: () => number
  readonly #ttlMs: number
  readonly #readers = new Map<string, Reader>()
  /** When the last life of a coordinator ended. */
  readonly #ends = new Map<string, number>()
  #last: Stored | undefined

  constructor(nowMs: () => number, ttlMs: number) {
    this.#nowMs = nowMs
    this.#ttlMs = ttlMs
  }

  /** A coordinator begins to follow. `address`: as in its epoch entry. */
  begins(address: string): void {
    const sinceMs = this.#nowMs()
    const nothing = { seq: 0, heardMs: sinceMs, isLive: false, range: undefined, asked: undefined }
    const formerEndMs = this.#ends.get(address) ?? Number.NEGATIVE_INFINITY
    this.#readers.set(address, { sinceMs, formerEndMs, ...nothing, isRangeUnknown: true })
  }

  ends(address: string): void {
    this.#readers.delete(address)
    this.#ends.set(address, this.#nowMs())
  }

  followed(address: string, seq: number): void {
    const reader = this.#readers.get(address)
    if (reader === undefined) return
    reader.seq = seq
    reader.heardMs = this.#nowMs()
    const { range, isRangeUnknown } = reader
    reader.isLive = !isRangeUnknown && range !== undefined && range.last < seq
  }

  rangeAsked(user: string, way: Passage['way'], fate: Fate, last: number): void {
    const reader = this.#readers.get(user)
    if (reader === undefined) return
    if (way === 'request') {
      reader.asked = { last, askedMs: this.#nowMs() }
      reader.isRangeUnknown = true
    } else if (fate === 'pass') {
      reader.range = reader.asked
      reader.isRangeUnknown = false
    }
  }

  stored(seq: number, entry: DecodedEntry): void {
    const before = this.#last
    if (entry.kind === 'epoch' && before !== undefined) this.#check(seq, entry, before)
    this.#last = { entry, atMs: this.#nowMs() }
  }

  /** The running coordinator that has read the entry at this place, or a later one. */
  witnessOf(seq: number, leader: string): string | undefined {
    const nowMs = this.#nowMs()
    for (const [address, { seq: read, heardMs, sinceMs }] of this.#readers) {
      if (address === leader && read >= seq) return address
      if (read >= seq && nowMs - Math.max(heardMs, sinceMs) > settledMs) return address
    }
    return undefined
  }

  #check(seq: number, { clockMs, address, epoch }: DecodedEntry, before: Stored): void {
    const passedMs = clockMs - before.entry.clockMs
    const says = (what: string) => () => `epoch ${epoch} of ${address}: ${what}`
    const reader = this.#readers.get(address)
    if (before.entry.kind !== 'resign') {
      const told = `the clock moves by ${passedMs} ms, and the time to live is ${this.#ttlMs} ms`
      holds(passedMs >= this.#ttlMs - 1, check, says(told))
    }
    if (reader === undefined || this.#nowMs() - reader.formerEndMs < lateMsMax) return
    const { range, heardMs, isLive } = reader
    if (before.entry.kind !== 'resign') {
      const isTold = range?.last === seq - 1 && range.askedMs >= heardMs
      holds(isTold, 'only silence deposes a coordinator', says('the engine was not asked after it'))
    }
    if (!isLive) return
    const mostMs = (this.#nowMs() - before.atMs) * rateMax + 1
    holds(passedMs <= mostMs, check, says(`the clock moves by ${passedMs} ms in ${mostMs} ms`))
  }
}
