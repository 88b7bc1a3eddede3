import type { Claim, CommitLog } from '@tenure/coordinator-server/internal'

/** A record in flight. */
export interface Pending {
  readonly lsn: number
  readonly bytes: Uint8Array
}

/**
 * A log whose disk acts on command. Appended records fill a batch. `write` hands the batch to the
 * disk; a crash may then leave any number of its first records. `sync` makes the batch durable. The
 * disk has one batch at a time, as in `@tenure/wal`.
 */
export class MemoryLog implements CommitLog {
  readonly #recordsMax: number
  readonly #onAppend: (record: Pending) => void
  #nextLsn: number
  #durableLsn: number
  #filling: Batch | undefined
  #writing: Batch | undefined

  constructor(lastLsn: number, recordsMax: number, onAppend: (record: Pending) => void) {
    this.#nextLsn = lastLsn + 1
    this.#durableLsn = lastLsn
    this.#recordsMax = recordsMax
    this.#onAppend = onAppend
  }

  get nextLsn(): number {
    return this.#nextLsn
  }

  get durableLsn(): number {
    return this.#durableLsn
  }

  get isFull(): boolean {
    return this.#nextLsn > this.#recordsMax
  }

  get filling(): readonly Pending[] {
    return this.#filling?.records ?? []
  }

  get writing(): readonly Pending[] {
    return this.#writing?.records ?? []
  }

  claim(bytes: number): Claim {
    if (this.isFull) throw noSpace
    return { bytes, release: () => {} }
  }

  append(firstLsn: number, bytes: Uint8Array): Promise<number> {
    if (firstLsn !== this.#nextLsn) throw new Error(`LSN ${firstLsn} is not ${this.#nextLsn}`)
    const record = { lsn: this.#nextLsn++, bytes: Uint8Array.from(bytes) }
    this.#filling ??= new Batch()
    this.#filling.records.push(record)
    this.#onAppend(record)
    return this.#filling.durable
  }

  write(): void {
    this.#writing = this.#filling
    this.#filling = undefined
  }

  sync(): void {
    const batch = this.#writing!
    this.#writing = undefined
    this.#durableLsn = batch.records.at(-1)!.lsn
    batch.settle(this.#durableLsn)
  }

  fail(): void {
    this.#writing!.refuse(diskFailed)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** Created once, because collecting a stack trace would take longer than everything else. */
const noSpace = Object.assign(new Error('the disk is full'), { code: 'WAL_NO_SPACE' })
const diskFailed = Object.assign(new Error('the disk failed'), { code: 'EIO' })

class Batch {
  readonly records: Pending[] = []
  readonly durable: Promise<number>
  settle: (lsn: number) => void = () => {}
  refuse: (error: Error) => void = () => {}

  constructor() {
    this.durable = new Promise((resolve, reject) => {
      this.settle = resolve
      this.refuse = reject
    })
  }
}
