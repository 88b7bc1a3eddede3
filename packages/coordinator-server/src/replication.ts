import { randomBytes } from 'node:crypto'
import type { LogOptions } from '@tenure/wal'
import type { Lifetime } from './lifetime.js'
import type { Settings } from './options/options.js'
import { CopyClock } from './replica/copy-clock.js'
import { EngineCheckpoints, seedIfNew } from './replica/engine-checkpoints.js'
import { defaultTtlMs } from './replica/options.js'
import { Replica } from './replica/replica.js'
import { ReplicaTime } from './replica/replica-time.js'
import type { DecisionSource, Running } from './service.js'

/** Where the decisions are taken on a shared log. */
export interface Replication {
  /** The directory is a copy of the shared log, and its clock that of the newest entry. */
  readonly logOptions: LogOptions
  /** Begins a new node's directory, if the beginning of the shared log was removed. */
  seed(): Promise<void>
  /** Follows the shared log, and calls `serve` when this coordinator leads. */
  begin(
    lifetime: Lifetime,
    running: Running,
    serve: (source: DecisionSource) => Promise<void>,
  ): void
  /** Keeps checkpoints in the engine, and truncates the shared log. Call it regularly. */
  tick(): void
}

export function prepareReplication(settings: Settings): Replication | undefined {
  const { clock, sharedLog, observer } = settings
  if (sharedLog === undefined) return undefined
  const { logId, era, address, ttlMs = defaultTtlMs, otherCopies = async () => [] } = sharedLog
  const copyClock = new CopyClock(clock)
  const identity = { logId, era }
  const { disk } = settings.log
  let checkpoints: EngineCheckpoints | undefined
  return {
    logOptions: { copyOf: identity, clock: copyClock },
    seed: () => seedIfNew(settings.dataDir, sharedLog.log, identity, disk),
    tick: () => void checkpoints?.tick(),
    begin(lifetime, { log: copy, state, peers, readiness }, serve) {
      const abort = new AbortController()
      const time = new ReplicaTime(clock)
      const replica = new Replica({
        shared: sharedLog.log,
        copy,
        copyClock,
        state,
        clock,
        time,
        identity,
        ttlMs,
        address,
        writer: randomBytes(8).toString('hex'),
        entryBytesMax: entryBytesMaxOf(settings),
        otherCopies,
        observer: {
          followed: (entry) => {
            peers.noteActive(replica.activeAddress)
            readiness.following(replica)
            observer.followed?.(entry)
          },
          leads: (epoch) => observer.leads?.(epoch),
          stalled: (isStalled) => {
            peers.pause(isStalled)
            observer.stalled?.(isStalled)
          },
          full: (isFull) => observer.full?.(isFull),
        },
        onFailure: (error) => lifetime.fail(error),
      })
      checkpoints = new EngineCheckpoints({
        shared: sharedLog.log,
        replica,
        copy,
        dataDir: settings.dataDir,
        disk,
        nowMs: () => clock.monotonicMs(),
        onFailure: (error) => lifetime.fail(error),
        onTrouble: (error) => observer.engineTrouble?.(error),
      })
      const stop = () => abort.abort()
      lifetime.onFailure(stop)
      lifetime.defer(async () => {
        stop()
        await replica.resign()
        await replica.close()
      })
      const lead = async () => {
        await replica.lead(abort.signal)
        const { epoch } = replica
        await serve({ log: replica, time, epoch, restarts: epoch - 1 })
      }
      lead().catch((error: unknown) => {
        if (!abort.signal.aborted) lifetime.fail(error)
      })
    },
  }
}

/** Engines limit their messages, often to 1 MiB. */
const entryBytesMaxDefault = 512 * 1024

/** The copy must take an entry in one append. */
function entryBytesMaxOf({ log: { appendBytesMax = entryBytesMaxDefault } }: Settings): number {
  return Math.min(entryBytesMaxDefault, appendBytesMax)
}
