import { type Clock, systemClock } from '@tenure/seams'
import { SharedLogError } from './errors.js'
import type {
  AppendOutcome,
  LogRange,
  SharedCheckpoints,
  SharedLog,
  StoredEntry,
} from './shared-log.js'

export interface MemoryEngineOptions {
  readonly clock?: Clock | undefined
  readonly bytesMax?: number | undefined
  /** Decides about each message between a user and the engine. By default all pass immediately. */
  readonly fateOf?: ((passage: Passage) => Fate | Promise<Fate>) | undefined
}

/** One message between a user and the engine. */
export interface Passage {
  readonly user: string
  readonly call: 'append' | 'read' | 'range' | 'truncate' | 'checkpoint'
  readonly way: 'request' | 'answer'
}

/** `late`: the user gives up waiting, and the request arrives nevertheless, this much later. */
export type Fate = 'pass' | 'lose' | { readonly lateMs: number }

/** How long a user waits before it asks again. */
const retryMs = 20

/**
 * A shared log in memory: the reference against which an engine is tested, and the engine of simulations.
 * Messages can be delayed, lost and late, and the log can suffer what befalls real engines.
 */
export class MemoryEngine {
  readonly clock: Clock
  readonly #fateOf: NonNullable<MemoryEngineOptions['fateOf']>
  bytesMax: number
  /** Whether the engine has no leader: it answers nothing and stores nothing. */
  isLeaderless = false
  readonly #entries: Uint8Array[] = []
  #first = 1
  #bytes = 0
  readonly #checkpoints = new Map<number, readonly Uint8Array[]>()
  #waiting: Array<() => void> = []

  constructor({ clock = systemClock, bytesMax = 2 ** 40, fateOf }: MemoryEngineOptions = {}) {
    this.clock = clock
    this.bytesMax = bytesMax
    this.#fateOf = fateOf ?? (() => 'pass')
  }

  connect(user: string): SharedLog {
    return new MemorySharedLog(this, user)
  }

  // ---- what users reach through their messages

  get range(): LogRange {
    const last = this.#first + this.#entries.length - 1
    const first = this.#entries.length === 0 ? last : this.#first
    return { first, last, bytes: this.#bytes, bytesMax: this.bytesMax }
  }

  at(seq: number): Uint8Array | undefined {
    return this.#entries[seq - this.#first]
  }

  store(after: number, entry: Uint8Array): AppendOutcome {
    if (after !== this.range.last) return 'overtaken'
    if (this.#bytes + entry.length > this.bytesMax) return 'full'
    this.write(entry)
    return 'stored'
  }

  truncate(through: number): void {
    while (this.#first <= through && this.#entries.length > 1) {
      this.#bytes -= this.#entries.shift()!.length
      this.#first++
    }
  }

  get checkpoints(): Map<number, readonly Uint8Array[]> {
    return this.#checkpoints
  }

  /** Resolves when an entry is stored. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  async fateOf(passage: Passage): Promise<Fate> {
    return this.#fateOf(passage)
  }

  // ---- what befalls an engine

  /** Stores an entry whatever the last one is, as a stranger with credentials would. */
  write(entry: Uint8Array): void {
    this.#entries.push(entry.slice())
    this.#bytes += entry.length
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Forgets the last entries, as an engine that does not sync after a power failure. */
  forget(count: number): void {
    for (let index = 0; index < count; index++) this.#bytes -= this.#entries.pop()?.length ?? 0
  }

  /** Loses everything. */
  wipe(): void {
    this.#entries.length = 0
    this.#first = 1
    this.#bytes = 0
    this.#checkpoints.clear()
  }

  /** Changes one bit of a stored entry. */
  flip(seq: number, bit: number): void {
    const entry = this.at(seq)
    if (entry !== undefined) entry[bit >> 3]! ^= 1 << (bit & 7)
  }
}

/** The answer did not come. The request may have arrived. */
class NoAnswer extends Error {}

class MemorySharedLog implements SharedLog {
  readonly #engine: MemoryEngine
  readonly #user: string
  readonly #closed = new AbortController()

  constructor(engine: MemoryEngine, user: string) {
    this.#engine = engine
    this.#user = user
  }

  range(): Promise<LogRange> {
    return this.#ask('range', () => this.#engine.range)
  }

  async *follow(after: number, signal: AbortSignal): AsyncGenerator<StoredEntry> {
    const engine = this.#engine
    const ended = AbortSignal.any([signal, this.#closed.signal])
    const end = aborted(ended)
    for (let seq = after + 1; !ended.aborted; ) {
      // Asked for before the look, so that no entry is missed in between.
      const change = engine.change()
      const found = await this.#askAgain('read', () => this.#read(seq), ended)
      if (ended.aborted) return
      if (found !== undefined) yield { seq: seq++, bytes: found }
      else await Promise.race([change, end])
    }
  }

  async append(
    after: number,
    entry: Uint8Array,
    isMine: (found: Uint8Array) => boolean,
  ): Promise<AppendOutcome> {
    const ended = this.#closed.signal
    for (;;) {
      const answer = await this.#tryOnce('append', () => this.#engine.store(after, entry))
      if (ended.aborted) throw closedError()
      if (answer === 'stored' || answer === 'full') return answer
      const found = await this.#askAgain('read', () => this.#engine.at(after + 1), ended)
      if (ended.aborted) throw closedError()
      if (found !== undefined) return isMine(found) ? 'stored' : 'overtaken'
      // Its place was removed, so another entry was stored there.
      if (answer === 'overtaken') return 'overtaken'
      await this.#pause()
    }
  }

  async truncate(through: number): Promise<void> {
    await this.#askAgain('truncate', () => this.#engine.truncate(through), this.#closed.signal)
  }

  async close(): Promise<void> {
    this.#closed.abort()
  }

  readonly checkpoints: SharedCheckpoints = {
    list: () =>
      this.#ask('checkpoint', () => [...this.#engine.checkpoints.keys()].sort((a, b) => b - a)),
    read: (lsn) => this.#readCheckpoint(lsn),
    write: (lsn, chunks) => this.#writeCheckpoint(lsn, chunks),
    remove: (lsn) => this.#ask('checkpoint', () => void this.#engine.checkpoints.delete(lsn)),
  }

  async *#readCheckpoint(lsn: number): AsyncGenerator<Uint8Array> {
    const chunks = await this.#ask('checkpoint', () => this.#engine.checkpoints.get(lsn))
    if (chunks === undefined) throw new Error(`there is no checkpoint at LSN ${lsn}`)
    for (const chunk of chunks) yield chunk.slice()
  }

  async #writeCheckpoint(lsn: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const stored: Uint8Array[] = []
    for await (const chunk of chunks) {
      await this.#ask('checkpoint', () => stored.push(chunk.slice()))
    }
    await this.#ask('checkpoint', () => this.#engine.checkpoints.set(lsn, stored))
  }

  #read(seq: number): Uint8Array | undefined {
    const { first, last } = this.#engine.range
    if (seq < first && last > 0) {
      throw new SharedLogError(
        'LOG_TRUNCATED',
        `entry ${seq} of the shared log was removed; the first one left is ${first}`,
        'Begin with a checkpoint of the shared log',
      )
    }
    return this.#engine.at(seq)?.slice()
  }

  /** Asks until there is an answer, or the signal is aborted. Errors of the engine pass through. */
  async #askAgain<T>(
    call: Passage['call'],
    act: () => T,
    ended: AbortSignal,
  ): Promise<T | undefined> {
    while (!ended.aborted) {
      try {
        return await this.#ask(call, act)
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
        await this.#pause()
      }
    }
    return undefined
  }

  /** `undefined` if the answer did not come. */
  async #tryOnce<T>(call: Passage['call'], act: () => T): Promise<T | undefined> {
    try {
      return await this.#ask(call, act)
    } catch (error) {
      if (error instanceof NoAnswer) return undefined
      throw error
    }
  }

  async #ask<T>(call: Passage['call'], act: () => T): Promise<T> {
    const engine = this.#engine
    const fate = await engine.fateOf({ user: this.#user, call, way: 'request' })
    if (typeof fate === 'object') {
      engine.clock.setTimer(fate.lateMs, () => {
        if (!engine.isLeaderless) act()
      })
    }
    if (fate !== 'pass' || engine.isLeaderless) throw new NoAnswer('the engine did not answer')
    const answer = act()
    const back = await engine.fateOf({ user: this.#user, call, way: 'answer' })
    if (back !== 'pass') throw new NoAnswer('the engine did not answer')
    return answer
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#engine.clock.setTimer(retryMs, resolve)
    })
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function closedError(): Error {
  return new Error('the connection to the shared log was closed')
}
