import { type Commit, type Log, type LogObserver, openLog } from '../src/index.js'
import type { Count, Store } from './store.js'

const segmentBytesFull = 64 * 1024 * 1024

/** `@tenure/wal` with its default options, measured through its observer. */
export class TenureStore implements Store {
  readonly #log: Log
  readonly #watch: Watch
  /** Truncations so far. */
  #truncations = 0
  #truncating: Promise<unknown> = Promise.resolve()

  constructor(log: Log, watch: Watch) {
    this.#log = log
    this.#watch = watch
  }

  /** From now on the log keeps at most eight segments, like one that makes checkpoints. */
  keepShort(): void {
    let rolls = 0
    this.#watch.onRolled = () => {
      rolls++
      if (rolls % 4 === 0) this.#truncating = this.#truncating.then(() => this.#truncate())
    }
  }

  async #truncate(): Promise<void> {
    await this.#log.writeCheckpoint(this.#log.sealedLsn, [])
    // It removes what the checkpoint before this one covers.
    await this.#log.truncate()
    this.#truncations++
  }

  get log(): Log {
    return this.#log
  }

  /** Totals of all writes so far. */
  get written(): Written {
    return { ...this.#watch.written }
  }

  append(record: Uint8Array): Promise<unknown> {
    return this.#log.append(this.#log.nextLsn, record)
  }

  appendAll(records: readonly Uint8Array[]): Promise<unknown> {
    return this.#log.append(this.#log.nextLsn, records)
  }

  async replay(): Promise<Count> {
    let records = 0
    let bytes = 0
    for await (const run of this.#log.replay({ fromLsn: 1 })) {
      records += run.records.length
      for (const record of run.records) bytes += record.length
    }
    return { records, bytes }
  }

  /** Grows a new log to segments of full size, like one that has run for a while. */
  async grow(segmentBytes = segmentBytesFull): Promise<void> {
    const record = new Uint8Array(256 * 1024).fill(1)
    while (this.#watch.segmentBytes < segmentBytes) await this.append(record)
    await this.rest()
  }

  /** Keeps the log short, and lets it run until its segments lie in files that were segments before. */
  async reachSteadyState(segmentBytes = segmentBytesFull): Promise<void> {
    await this.grow(segmentBytes)
    this.keepShort()
    const record = new Uint8Array(256 * 1024).fill(1)
    while (this.#truncations < 3) await this.append(record)
    await this.rest()
  }

  /** Waits until the log has no background work. */
  async rest(): Promise<void> {
    await this.#truncating
    while (this.#watch.preparing > 0) {
      await new Promise((resolve) => {
        this.#watch.onPrepared = resolve
      })
    }
  }

  close(): Promise<void> {
    return this.#log.close()
  }
}

export interface Written {
  readonly batches: number
  readonly records: number
  readonly bytes: number
}

class Watch implements LogObserver {
  readonly written = { batches: 0, records: 0, bytes: 0 }
  /** An opened log starts to prepare a segment immediately. */
  preparing = 1
  segmentBytes = 0
  onPrepared: (value?: unknown) => void = () => {}
  onRolled: () => void = () => {}
  #spareBytes = 0
  readonly #also: LogObserver

  constructor(also: LogObserver) {
    this.#also = also
  }

  committed(commit: Commit): void {
    this.written.batches++
    this.written.records += commit.records
    this.written.bytes += commit.bytes
  }

  sparePrepared(spare: { readonly bytes: number; readonly durationMs: number }): void {
    this.preparing--
    this.#spareBytes = spare.bytes
    this.#also.sparePrepared?.(spare)
    this.onPrepared()
  }

  rolled(roll: { readonly segment: string; readonly durationMs: number }): void {
    this.preparing++
    this.segmentBytes = this.#spareBytes
    this.#also.rolled?.(roll)
    this.onRolled()
  }
}

/** `also` receives rolls and prepared segments, too. */
export async function openTenure(
  directory: string,
  options: { readonly segmentBytes?: number; readonly also?: LogObserver } = {},
): Promise<TenureStore> {
  const { also = {}, ...rest } = options
  const watch = new Watch(also)
  return new TenureStore(await openLog(directory, { ...rest, observer: watch }), watch)
}
