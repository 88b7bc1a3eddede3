import { entryBytes } from '@tenure/shared-log'
import type { Claim } from '../core/commit-log.js'

/** The records of an entry that still accepts some, and the callers that wait for it. */
export class OutgoingEntry {
  readonly firstLsn: number
  readonly records: Uint8Array[] = []
  readonly claims: Claim[] = []
  /** Resolves with the last LSN when the entry is stored. */
  readonly stored: Promise<number>
  resolve!: (lsn: number) => void
  reject!: (error: unknown) => void
  #bytes = entryBytes([])

  constructor(firstLsn: number) {
    this.firstLsn = firstLsn
    this.stored = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    // A caller that has gone must not end the process.
    this.stored.catch(() => {})
  }

  get lastLsn(): number {
    return this.firstLsn + this.records.length - 1
  }

  add(record: Uint8Array, claim: Claim): void {
    this.#bytes += entryBytes([record]) - entryBytes([])
    this.records.push(record)
    this.claims.push(claim)
  }

  /** Whether another record fits. */
  takes(record: Uint8Array, bytesMax: number): boolean {
    return this.records.length === 0 || this.#bytes + record.length + 4 <= bytesMax
  }
}

/** Entries that are not stored yet: at most one is sent, because each one's place depends on the last. */
export class OutgoingEntries {
  readonly #bytesMax: number
  readonly #full: OutgoingEntry[] = []
  #filling: OutgoingEntry | undefined
  #sent: OutgoingEntry | undefined

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get isSent(): boolean {
    return this.#sent !== undefined
  }

  get isEmpty(): boolean {
    return this.#sent === undefined && this.#full.length === 0 && this.#filling === undefined
  }

  /** The entry for another record, or for a confirmation. It has not been sent yet. */
  entryFor(nextLsn: number, record?: Uint8Array): OutgoingEntry {
    const filling = this.#filling
    if (filling !== undefined && record !== undefined && !filling.takes(record, this.#bytesMax)) {
      this.#full.push(filling)
      this.#filling = undefined
    }
    this.#filling ??= new OutgoingEntry(nextLsn)
    return this.#filling
  }

  /** Takes the next entry to send. */
  send(): OutgoingEntry | undefined {
    const next = this.#full.shift() ?? this.#filling
    if (next === this.#filling) this.#filling = undefined
    this.#sent = next
    return next
  }

  stored(): void {
    this.#sent = undefined
  }

  rejectAll(error: unknown): void {
    for (const entry of [this.#sent, ...this.#full.splice(0), this.#filling]) entry?.reject(error)
    this.#sent = undefined
    this.#filling = undefined
  }
}
