import type { Clock, Timer } from '@tenure/seams'
import {
  type DecodedEntry,
  decodeEntry,
  type EntryKind,
  encodeEntry,
  isEntryOf,
  type LogRange,
  type SharedLog,
  SharedLogError,
} from '@tenure/shared-log'
import { apply, decodeRecord, position, type State } from '@tenure/state-machine'
import { type SharedLogIdentity, WalError } from '@tenure/wal'
import type { Claim, CommitLog } from '../core/commit-log.js'
import { CoordinatorError } from '../errors.js'
import type { CopyClock } from './copy-clock.js'
import { OutgoingEntries, type OutgoingEntry } from './outgoing.js'
import { type ComparedCopy, findPlace, lost } from './place.js'
import type { ReplicaTime } from './replica-time.js'

/** The end of a copy, as its node tells it to others. */
export interface CopyEnd {
  /** The place of the last entry that it has read. */
  readonly seq: number
  /** The checksum of that entry's header. `undefined` if the entry was removed before it was read. */
  readonly chain: number | undefined
}

/** The parts of a copy that a replica uses. */
export interface ReplicaCopy extends ComparedCopy {
  append(firstLsn: number, records: readonly Uint8Array[]): Promise<unknown>
  claim(bytes: number, urgency: 'low' | 'normal' | 'high'): Claim
  enterEpoch(sharedEpoch: number): void
}

export interface ReplicaParts {
  readonly shared: SharedLog
  /** This node's directory. */
  readonly copy: ReplicaCopy
  readonly state: State
  readonly clock: Clock
  readonly time: ReplicaTime
  /** The clock with which the copy was opened. */
  readonly copyClock: CopyClock
  readonly identity: SharedLogIdentity
  /** After this long without an entry, a standby takes over. */
  readonly ttlMs: number
  /** Where this coordinator listens for clients. */
  readonly address: string
  /** 16 hexadecimal digits that no other start of a coordinator has. */
  readonly writer: string
  /** An entry is never larger, unless it has one large record. */
  readonly entryBytesMax: number
  /** The ends of the other coordinators' copies, of all that can be reached. */
  readonly otherCopies: () => Promise<readonly CopyEnd[]>
  readonly observer: ReplicaObserver
  /** This coordinator decides no more: it was overtaken, or the shared log is not what it followed. */
  readonly onFailure: (error: unknown) => void
}

/** Every hook is optional, and must not throw. */
export interface ReplicaObserver {
  /** An entry was read or written. */
  followed?(entry: { readonly seq: number; readonly epoch: number }): void
  /** A standby of this coordinator's epoch has taken over. */
  leads?(epoch: number): void
  /** The engine has not acknowledged an entry for `ttlMs`, or does so again. */
  stalled?(isStalled: boolean): void
  /** A checkpoint could not be put into the engine, or read from it. It is tried again. */
  engineTrouble?(error: unknown): void
  /** The shared log has no space for an entry, or has space again. */
  full?(isFull: boolean): void
}

/** How often the engine is asked again whether it has space. */
const fullRetryMs = 1000
/** How often an engine that does not answer is asked again. */
const unreachableRetryMs = 200
/** Entries whose records are not yet in the copy. A slow disk must not fill the memory. */
const uncopiedMax = 64

/**
 * Of the space of the shared log, the least urgent records leave this share free, and all others less.
 * Reports, and notes about leadership, can then be written to a log that is full for submissions.
 */
const shareKeptBack = { low: 1 / 4, normal: 1 / 8, high: 1 / 16 } as const

/**
 * A coordinator's log when an engine decides which entry is next. It follows the shared log into this
 * node's copy and state, and leads when the engine has stored its epoch entry:
 *
 *     following ──silence, or a resignation──▶ its epoch entry is stored ──▶ leading ──▶ ended
 *         ▲                                         │
 *         └──────────── overtaken ──────────────────┘
 *
 * Safety rests on the engine's compare-and-append alone. While this node leads, one entry is on its way
 * at a time; a foreign entry at its place ends the leadership for good.
 */
export class Replica implements CommitLog {
  readonly #parts: ReplicaParts
  readonly #outgoing: OutgoingEntries
  #mode: 'following' | 'leading' | 'ended' = 'following'

  /** The last entry that is in the state: its place, its checksum, its epoch. */
  #seq = 0
  /** `undefined` if the entry before the next one was removed. */
  #chain: number | undefined
  #epoch = 0
  #hasResigned = false
  #address = ''
  #number = 0
  #nextLsn: number
  #durableLsn: number
  #isScheduled = false
  #uncopied = 0
  #copied: Promise<void> = Promise.resolve()

  #heardMs: number
  #sentMs = 0
  #isStalled = false
  #range: LogRange = { first: 0, last: 0, bytes: 0, bytesMax: Number.POSITIVE_INFINITY }
  #timer: Timer | undefined

  constructor(parts: ReplicaParts) {
    this.#parts = parts
    this.#outgoing = new OutgoingEntries(parts.entryBytesMax)
    this.#nextLsn = parts.copy.nextLsn
    this.#durableLsn = this.#nextLsn - 1
    this.#heardMs = parts.clock.monotonicMs()
  }

  get nextLsn(): number {
    return this.#nextLsn
  }

  get durableLsn(): number {
    return this.#durableLsn
  }

  /** The epoch of the newest epoch entry. */
  get epoch(): number {
    return this.#epoch
  }

  get isLeading(): boolean {
    return this.#mode === 'leading'
  }

  /** Where the active coordinator listens, as far as this node knows. */
  get activeAddress(): string | undefined {
    return this.#address === '' || this.#hasResigned ? undefined : this.#address
  }

  get end(): CopyEnd {
    return { seq: this.#seq, chain: this.#chain }
  }

  /** Time since an entry was heard of. */
  get silentMs(): number {
    return this.#parts.clock.monotonicMs() - this.#heardMs
  }

  /** Follows the shared log until this node's epoch entry is the last one. */
  async lead(signal: AbortSignal): Promise<void> {
    const { shared, copy, state, time, copyClock } = this.#parts
    const place = await findPlace(shared, await this.#firstRange(signal), copy)
    this.#seq = place.seq
    // A node that takes over without reading another entry goes on from here.
    const clockMs = place.entry?.clockMs ?? position(state).lastAt
    time.note(clockMs, false)
    copyClock.note(clockMs)
    if (place.entry !== undefined) this.#note(place.entry)
    else this.#chain = place.seq === 0 ? 0 : undefined
    while (!signal.aborted) {
      await this.#followUntilSilence(signal)
      if (!signal.aborted && (await this.#takeOver())) return
    }
    throw stopped()
  }

  // ---- following

  /** Asks until the engine answers. */
  async #firstRange(signal: AbortSignal): Promise<LogRange> {
    while (!signal.aborted) {
      if ((await this.#lastSeq()) !== undefined) return this.#range
      await this.#pause(unreachableRetryMs)
    }
    throw stopped()
  }

  /** Returns when nothing was heard for the time to live, or the leader has resigned. */
  async #followUntilSilence(signal: AbortSignal): Promise<void> {
    const { shared, clock, ttlMs } = this.#parts
    const abort = new AbortController()
    const stop = () => abort.abort()
    signal.addEventListener('abort', stop)
    this.#heardMs = clock.monotonicMs()
    let timer: Timer
    const watch = () => {
      const leftMs = ttlMs - this.silentMs
      if (leftMs > 0) timer = clock.setTimer(leftMs, watch)
      else stop()
    }
    timer = clock.setTimer(ttlMs, watch)
    let caughtUpSeq = await this.#lastSeq()
    // Nothing to wait for: the log is new, or its leader has resigned.
    if (caughtUpSeq === this.#seq && (this.#seq === 0 || this.#hasResigned)) stop()
    try {
      for await (const { seq, bytes } of shared.follow(this.#seq, abort.signal)) {
        this.#heardMs = clock.monotonicMs()
        const isLive = caughtUpSeq !== undefined && seq > caughtUpSeq
        caughtUpSeq ??= await this.#lastSeq()
        this.#follow(decodeEntry(bytes, seq), seq, isLive)
        if (this.#uncopied > uncopiedMax) await this.#copied
        if (this.#hasResigned && seq >= (caughtUpSeq ?? Number.POSITIVE_INFINITY)) stop()
      }
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', stop)
    }
  }

  /** The last place of the shared log, or `undefined` if the engine does not answer. */
  async #lastSeq(): Promise<number | undefined> {
    try {
      const range = await this.#parts.shared.range()
      this.#range = range
      return range.last
    } catch (error) {
      if (error instanceof SharedLogError) throw error
      return undefined
    }
  }

  #follow(entry: DecodedEntry, seq: number, isLive: boolean): void {
    this.#check(entry, seq)
    const { state, time, copyClock } = this.#parts
    // A copy that began with a checkpoint can have the first records of its first entry.
    const known = this.#nextLsn - entry.firstLsn
    const records = known === 0 ? entry.records : entry.records.slice(known)
    const firstLsn = this.#nextLsn
    for (const [index, bytes] of records.entries()) {
      apply(state, firstLsn + index, decodeRecord(bytes))
    }
    time.note(entry.clockMs, isLive)
    copyClock.note(entry.clockMs)
    this.#seq = seq
    this.#note(entry)
    this.#addToCopy(firstLsn, records)
    this.#nextLsn += records.length
    this.#durableLsn = this.#nextLsn - 1
  }

  #check(entry: DecodedEntry, seq: number): void {
    const { logId, era } = this.#parts.identity
    const problem = (code: 'LOG_FOREIGN' | 'LOG_DAMAGED', why: string) =>
      new SharedLogError(
        code,
        `entry ${seq} of the shared log ${why}`,
        'Only coordinators may write to the shared log; begin it anew from the copy that reaches furthest',
      )
    if (entry.logId !== logId || entry.era !== era) {
      throw problem('LOG_FOREIGN', `belongs to log ${entry.logId}, era ${entry.era}`)
    }
    if (this.#chain !== undefined && entry.chain !== this.#chain) {
      throw problem('LOG_DAMAGED', 'does not continue the one before')
    }
    const isNewEpoch = entry.kind === 'epoch'
    if (isNewEpoch ? entry.epoch <= this.#epoch : this.#epoch > 0 && entry.epoch !== this.#epoch) {
      throw problem('LOG_DAMAGED', `is of epoch ${entry.epoch}, after epoch ${this.#epoch}`)
    }
    const endLsn = entry.firstLsn + entry.records.length - 1
    if (entry.firstLsn > this.#nextLsn || endLsn < this.#nextLsn - 1) {
      throw problem('LOG_DAMAGED', `begins at LSN ${entry.firstLsn} instead of ${this.#nextLsn}`)
    }
  }

  /** Notes an entry that is in the state. */
  #note({ crc, epoch, kind, address }: DecodedEntry): void {
    this.#chain = crc
    this.#hasResigned = kind === 'resign'
    if (kind === 'epoch') this.#address = address
    if (epoch !== this.#epoch) {
      this.#epoch = epoch
      this.#parts.copy.enterEpoch(epoch)
    }
    this.#parts.observer.followed?.({ seq: this.#seq, epoch })
  }

  /** The copy is never ahead of the shared log, and need not be synced: the engine has the records. */
  #addToCopy(firstLsn: number, records: readonly Uint8Array[]): void {
    if (records.length === 0) return
    this.#uncopied++
    this.#copied = this.#parts.copy.append(firstLsn, records).then(
      () => {
        this.#uncopied--
      },
      (error: unknown) => this.#fail(error),
    )
  }

  // ---- taking over

  /** False if the shared log goes on, or cannot be asked: then the silence begins anew. */
  async #takeOver(): Promise<boolean> {
    const { clock, time, address, copy, observer } = this.#parts
    // Asked before the range, so that an entry that is stored meanwhile does not look lost.
    const copies = await this.#parts.otherCopies()
    const last = await this.#lastSeq()
    this.#heardMs = clock.monotonicMs()
    if (last === undefined) return false
    this.#refuseLoss(last, copies)
    if (last > this.#seq) return false
    const before = this.#epoch
    this.#epoch = before + 1
    time.lead()
    const outcome = await this.#append('epoch', { records: [], firstLsn: this.#nextLsn, address })
    if (outcome !== 'stored') {
      this.#epoch = before
      return false
    }
    this.#address = address
    this.#hasResigned = false
    copy.enterEpoch(this.#epoch)
    this.#mode = 'leading'
    this.#watchOver()
    observer.leads?.(this.#epoch)
    return true
  }

  /** A copy that is ahead of the shared log, or differs from it, shows that the engine has lost entries. */
  #refuseLoss(last: number, copies: readonly CopyEnd[]): void {
    for (const { seq, chain } of [this.end, ...copies]) {
      if (seq > last) {
        throw lost(
          this.#durableLsn,
          `the shared log ends at entry ${last}, and a copy has entry ${seq}`,
        )
      }
      const areKnown = chain !== undefined && this.#chain !== undefined
      if (seq === this.#seq && areKnown && chain !== this.#chain) {
        throw lost(this.#durableLsn, `another copy has another entry ${seq}`)
      }
    }
  }

  // ---- leading

  append(firstLsn: number, record: Uint8Array, claim: Claim): Promise<number> {
    if (this.#mode !== 'leading') return Promise.reject(this.#notLeading())
    if (firstLsn !== this.#nextLsn) {
      const problem = `the append starts at LSN ${firstLsn}, but the next LSN is ${this.#nextLsn}`
      return Promise.reject(new WalError('WAL_LSN_MISMATCH', problem))
    }
    const entry = this.#outgoing.entryFor(this.#nextLsn, record)
    entry.add(record, claim)
    this.#nextLsn++
    this.#schedule()
    return entry.stored
  }

  /** Reserves space on this node's disk and in the shared log. */
  claim(bytes: number, urgency: 'low' | 'normal' | 'high'): Claim {
    if (this.#mode !== 'leading') throw this.#notLeading()
    const { bytes: used, bytesMax } = this.#range
    if (used + bytes > bytesMax * (1 - shareKeptBack[urgency])) {
      throw new WalError('WAL_NO_SPACE', 'the shared log is full', {
        remedy: 'Give it more space, or wait for the next checkpoint, which frees space',
      })
    }
    return this.#parts.copy.claim(bytes, urgency)
  }

  /** Settles with the next entry that is first sent after this call. */
  confirm(): Promise<number> {
    if (this.#mode !== 'leading') return Promise.reject(this.#notLeading())
    const entry = this.#outgoing.entryFor(this.#nextLsn)
    this.#schedule()
    return entry.stored
  }

  /** Tells the standby that it need not wait, after everything else is stored. */
  async resign(): Promise<void> {
    if (this.#mode !== 'leading') return
    while (!this.#outgoing.isEmpty) await this.confirm()
    this.#mode = 'ended'
    this.#timer?.cancel()
    await this.#append('resign', { records: [], firstLsn: this.#nextLsn, address: '' })
  }

  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#mode = 'ended'
    await this.#parts.shared.close()
  }

  /** Sends after all input that is ready has been handled, so that it shares one entry. */
  #schedule(): void {
    if (this.#isScheduled || this.#outgoing.isSent) return
    this.#isScheduled = true
    this.#parts.clock.soon(() => {
      this.#isScheduled = false
      void this.#sendNext()
    })
  }

  async #sendNext(): Promise<void> {
    if (this.#mode !== 'leading' || this.#outgoing.isSent) return
    const entry = this.#outgoing.send()
    if (entry === undefined) return
    try {
      const kind = entry.records.length === 0 ? 'empty' : 'records'
      const { records, firstLsn } = entry
      const outcome = await this.#append(kind, { records, firstLsn, address: '' })
      if (outcome === 'overtaken') this.#fail(await this.#explainOvertaken())
      else this.#stored(entry)
    } catch (error) {
      this.#fail(error)
    }
  }

  #stored(entry: OutgoingEntry): void {
    if (this.#mode !== 'leading') return
    this.#outgoing.stored()
    for (const claim of entry.claims) claim.release()
    this.#durableLsn = entry.lastLsn
    this.#addToCopy(entry.firstLsn, entry.records)
    entry.resolve(entry.lastLsn)
    if (!this.#outgoing.isEmpty) this.#schedule()
  }

  /** Stores one entry at the next place, however long that takes. Keeps its bytes while the log is full. */
  async #append(
    kind: EntryKind,
    content: Pick<DecodedEntry, 'records' | 'firstLsn' | 'address'>,
  ): Promise<'stored' | 'overtaken'> {
    const { shared, identity, time, copyClock, writer, clock, observer } = this.#parts
    const number = ++this.#number
    const clockMs = time.now()
    const facts = { kind, epoch: this.#epoch, clockMs, writer, number, chain: this.#chain ?? 0 }
    const { records, firstLsn, address } = content
    const { bytes, crc } = encodeEntry({ ...identity, ...facts, records, firstLsn, address })
    const isMine = (found: Uint8Array) => isEntryOf(found, writer, number)
    this.#sentMs = clock.monotonicMs()
    for (let isFull = false; ; ) {
      const outcome = await shared.append(this.#seq, bytes, isMine)
      if (outcome === 'full') {
        if (!isFull) observer.full?.(true)
        isFull = true
        await this.#pause(fullRetryMs)
        continue
      }
      if (isFull) observer.full?.(false)
      if (outcome === 'overtaken') return 'overtaken'
      this.#seq++
      this.#chain = crc
      copyClock.note(clockMs)
      this.#range = { ...this.#range, bytes: this.#range.bytes + bytes.length }
      this.#heardMs = clock.monotonicMs()
      this.#setStalled(false)
      observer.followed?.({ seq: this.#seq, epoch: this.#epoch })
      return 'stored'
    }
  }

  /** Three times per time to live: an entry if there was none, and a look whether one is stuck. */
  #watchOver(): void {
    const { clock, ttlMs } = this.#parts
    this.#timer = clock.setTimer(ttlMs / 3, () => {
      if (this.#mode !== 'leading') return
      if (this.#outgoing.isSent) {
        if (clock.monotonicMs() - this.#sentMs >= ttlMs) this.#setStalled(true)
      } else if (this.silentMs >= ttlMs / 3 - 1) void this.confirm().catch(() => {})
      void this.#lastSeq().catch((error: unknown) => this.#fail(error))
      this.#watchOver()
    })
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#parts.clock.setTimer(ms, resolve)
    })
  }

  #setStalled(isStalled: boolean): void {
    if (isStalled === this.#isStalled) return
    this.#isStalled = isStalled
    this.#parts.observer.stalled?.(isStalled)
  }

  #fail(error: unknown): void {
    if (this.#mode === 'ended') return
    this.#mode = 'ended'
    this.#timer?.cancel()
    this.#outgoing.rejectAll(error)
    this.#parts.onFailure(error)
  }

  /** A foreign entry is at the place of this node's entry, or the place is gone. */
  async #explainOvertaken(): Promise<Error> {
    const last = await this.#lastSeq()
    if (last !== undefined && last < this.#seq) {
      return lost(this.#durableLsn, `the shared log ends at entry ${last} instead of ${this.#seq}`)
    }
    return new CoordinatorError(
      'LEADERSHIP_LOST',
      `another coordinator has taken over after epoch ${this.#epoch}; start this one again, and it becomes a standby`,
    )
  }

  #notLeading(): CoordinatorError {
    return new CoordinatorError(
      'LEADERSHIP_LOST',
      'this coordinator is not the active one; send the request to the active coordinator',
    )
  }
}

function stopped(): CoordinatorError {
  return new CoordinatorError('COORDINATOR_STOPPED', 'the coordinator was stopped as a standby')
}
