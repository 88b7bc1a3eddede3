import { readState, replayOnto } from '@tenure/history/internal'
import { type LogRange, type SharedLog, SharedLogError } from '@tenure/shared-log'
import { createState, hashState, position } from '@tenure/state-machine'
import { type Disk, type Log, openReadOnly, seedCopy, WalError } from '@tenure/wal'
import { lastEntryThrough } from './place.js'
import type { Replica } from './replica.js'

/** The first chunk of a checkpoint in the engine, as JSON. The others are the state's. */
interface CheckpointFacts {
  readonly lsn: number
  readonly sharedEpoch: number
  readonly clockMs: number
  readonly stateHash: string
}

export interface EngineCheckpointsParts {
  readonly shared: SharedLog
  readonly replica: Replica
  readonly copy: Log
  readonly dataDir: string
  readonly disk?: Disk | undefined
  readonly nowMs: () => number
  readonly onFailure: (error: unknown) => void
  /** The engine did not do what was asked. */
  readonly onTrouble: (error: unknown) => void
}

/** A leader leaves it to a standby to put a checkpoint into the engine, for this long. */
const standbyFirstMs = 60_000

/**
 * Checkpoints in the engine: new nodes begin with one, and the log is truncated through the older of
 * two. Each node makes checkpoints of its own directory; one of them is put here when the shared log is
 * half full.
 */
export class EngineCheckpoints {
  readonly #parts: EngineCheckpointsParts
  #isBusy = false
  #missingSinceMs: number | undefined
  /** Hashes of this node's own state, by LSN; `undefined` where its directory no longer has the records. */
  readonly #ownHashes = new Map<number, string | undefined>()

  constructor(parts: EngineCheckpointsParts) {
    this.#parts = parts
  }

  /** Call it regularly. An engine that does not answer is asked again the next time. */
  async tick(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      await this.#keepUp()
    } catch (error) {
      if (error instanceof SharedLogError || error instanceof WalError) this.#parts.onFailure(error)
      else this.#parts.onTrouble(error)
    } finally {
      this.#isBusy = false
    }
  }

  async #keepUp(): Promise<void> {
    const { shared, replica } = this.#parts
    const range = await shared.range()
    if (range.bytes * 2 < range.bytesMax) return
    const [newest = 0, older] = await shared.checkpoints.list()
    if (this.#isDue(newest)) await this.#put()
    else if (!replica.isLeading) await this.#compare(newest)
    else if (older !== undefined) await this.#truncate(range, newest, older)
  }

  /** The standby puts its newest checkpoint immediately; the leader does if no standby did for a minute. */
  #isDue(newest: number): boolean {
    const { replica, copy, nowMs } = this.#parts
    if (copy.checkpointLsn <= newest) {
      this.#missingSinceMs = undefined
      return false
    }
    this.#missingSinceMs ??= nowMs()
    return !replica.isLeading || nowMs() - this.#missingSinceMs >= standbyFirstMs
  }

  async #put(): Promise<void> {
    const { shared, copy, dataDir, disk } = this.#parts
    const lsn = copy.checkpointLsn
    // By its LSN: the copy can get a newer checkpoint between the two readings.
    const reader = await openReadOnly(dataDir, { disk })
    const state = await readState(reader.readCheckpoint(lsn))
    const stateHash = hashState(state)
    const clockMs = position(state).lastAt
    const facts: CheckpointFacts = { lsn, sharedEpoch: copy.sharedEpoch, clockMs, stateHash }
    await shared.checkpoints.write(lsn, withFacts(facts, reader.readCheckpoint(lsn)))
    this.#ownHashes.set(lsn, stateHash)
  }

  /** A standby whose state differs stops: one of the two would decide wrongly. */
  async #compare(lsn: number): Promise<void> {
    if (lsn === 0 || lsn > this.#parts.replica.durableLsn || this.#ownHashes.has(lsn)) return
    if ((await this.#isEqual(lsn)) !== false) return
    throw new SharedLogError(
      'STATE_DIVERGED',
      `this coordinator's state after LSN ${lsn} differs from the checkpoint in the shared log`,
      'Keep its data directory for a report, and start it with an empty one',
    )
  }

  /** Removes what two checkpoints cover that read back and equal this node's own state. */
  async #truncate(range: LogRange, newest: number, older: number): Promise<void> {
    const { shared } = this.#parts
    if (!(await this.#isEqual(newest)) || !(await this.#isEqual(older))) return
    const through = await lastEntryThrough(shared, range, older)
    if (through >= range.first) await shared.truncate(through)
    for (const lsn of (await shared.checkpoints.list()).slice(2))
      await shared.checkpoints.remove(lsn)
  }

  /**
   * Whether the checkpoint holds the state that this node has at its LSN. `undefined` if it does not read
   * back as it was written, or if this node no longer knows that state.
   */
  async #isEqual(lsn: number): Promise<boolean | undefined> {
    const chunks = this.#parts.shared.checkpoints.read(lsn)
    const { facts, rest } = await splitFacts(chunks)
    const hash = hashState(await readState(rest))
    // Damaged on its way: it proves nothing about this node.
    if (hash !== facts.stateHash) return undefined
    const own = await this.#ownHash(lsn)
    return own === undefined ? undefined : own === hash
  }

  async #ownHash(lsn: number): Promise<string | undefined> {
    if (!this.#ownHashes.has(lsn)) this.#ownHashes.set(lsn, await this.#findOwnHash(lsn))
    return this.#ownHashes.get(lsn)
  }

  async #findOwnHash(lsn: number): Promise<string | undefined> {
    const { dataDir, disk } = this.#parts
    const reader = await openReadOnly(dataDir, { disk })
    const from = reader.checkpoints.find((checkpoint) => checkpoint <= lsn)
    const state = from === undefined ? createState() : await readState(reader.readCheckpoint(from))
    try {
      await replayOnto(state, reader, { until: { lsn } })
    } catch (error) {
      if (error instanceof WalError && error.code === 'WAL_FORGOTTEN') return undefined
      throw error
    }
    return hashState(state)
  }
}

/**
 * Begins a new node's directory with a checkpoint of the shared log, if the beginning of the log was
 * removed. Does nothing for a directory that has a log.
 */
export async function seedIfNew(
  dataDir: string,
  shared: SharedLog,
  { logId, era }: { readonly logId: string; readonly era: number },
  disk?: Disk,
): Promise<void> {
  if (await hasLog(dataDir, disk)) return
  const { first } = await shared.range()
  if (first <= 1) return
  const [newest] = await shared.checkpoints.list()
  if (newest === undefined) {
    throw new SharedLogError(
      'LOG_TRUNCATED',
      `the shared log begins with entry ${first}, and has no checkpoint`,
      "Copy another coordinator's data directory while that one is stopped",
    )
  }
  const { facts, rest } = await splitFacts(shared.checkpoints.read(newest))
  const { lsn, sharedEpoch, clockMs } = facts
  await seedCopy(dataDir, { logId, era, lsn, sharedEpoch, clockMs }, rest, disk && { disk })
}

async function hasLog(dataDir: string, disk?: Disk): Promise<boolean> {
  try {
    await openReadOnly(dataDir, { disk })
    return true
  } catch (error) {
    if (error instanceof WalError && error.code === 'WAL_NOT_A_LOG') return false
    throw error
  }
}

async function* withFacts(
  facts: CheckpointFacts,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(facts))
  yield* chunks
}

async function splitFacts(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ readonly facts: CheckpointFacts; readonly rest: AsyncIterable<Uint8Array> }> {
  const iterator = chunks[Symbol.asyncIterator]()
  const { value } = await iterator.next()
  const facts = JSON.parse(Buffer.from(value ?? []).toString()) as CheckpointFacts
  return { facts, rest: { [Symbol.asyncIterator]: () => iterator } }
}
