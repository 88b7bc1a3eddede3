import type { RetryPolicy } from '@tenure/options'

/**
 * What happens in one simulated world, as plain data: it is drawn from a seed, kept in a file, and
 * made smaller by deletion. What is left to chance while it runs is drawn from `seed`.
 */
export interface Scenario {
  readonly seed: number
  readonly knobs: ScenarioKnobs
  readonly workers: readonly WorkerPlan[]
  readonly clients: number
  readonly operations: readonly Operation[]
  readonly faults: readonly PlannedTrouble[]
  /** From then on nothing fails any more, and everything has to come to its end. */
  readonly healAtMs: number
}

export interface ScenarioKnobs {
  readonly leaseDurationMs: number
  readonly heartbeatIntervalMs: number
  readonly poisonThreshold: number
  readonly retentionMs: number
  readonly retentionTasks: number
  readonly waitingTasksMax: number
  /** Every disk call takes up to so long; 0 is none, so that writes happen on the event loop. */
  readonly diskMsMax: number
  /** How long a piece travels, and how large it is, at most. */
  readonly networkMsMax: number
  readonly pieceBytesMax: number
  /** How fast the coordinator's own clocks run. */
  readonly clockRate: number
  /** At how many of a thousand answers a copy of the disk is taken, to start from after a power loss. */
  readonly copiesPerThousand: number
}

export interface WorkerPlan {
  readonly concurrency: number
  readonly queues: readonly string[]
  readonly clockRate: number
  readonly pollWaitMs: number
}

export interface TaskPlan {
  readonly queue: string
  readonly payloadBytes: number
  readonly hasRequestId: boolean
  readonly delayMs: number
  readonly executionWindowMs: number
  readonly retryPolicy: RetryPolicy
  /** What its handler does at each attempt; at further ones it returns at once. */
  readonly attempts: readonly HandlerPlan[]
}

export interface HandlerPlan {
  readonly afterMs: number
  /** `hangs`: until it is told to end; `deaf`: until it is terminated. */
  readonly ends: 'returns' | 'throws' | 'crashes' | 'hangs' | 'deaf'
}

/** What somebody does, at a time. `task` names a submission by its number. */
export type Operation = { readonly atMs: number } & Deed

type Deed = Submission | Question | RogueDeed | Stop | Garbage

export type Submission = { readonly client: number } & (
  | { readonly kind: 'submit'; readonly number: number; readonly task: TaskPlan }
  /** The same request_id once more: with the same payload, or with another one. */
  | { readonly kind: 'resubmit'; readonly task: number; readonly isOther: boolean }
)

/** To be asked again until it is answered. */
export type Question = { readonly client: number } & (
  | { readonly kind: 'kill' | 'get' | 'why' | 'history'; readonly task: number }
  | { readonly kind: 'list' | 'stats' | 'checkpoint' }
)

/** Leases a task of the queue, and says about it what the steps are. */
export interface RogueDeed {
  readonly kind: 'rogue'
  readonly rogue: number
  readonly queue: string
  readonly steps: readonly RogueStep[]
}

type Stop =
  | { readonly kind: 'stop worker'; readonly worker: number; readonly downMs: number }
  | { readonly kind: 'stop coordinator'; readonly downMs: number }

/** Bytes that are no protocol. */
interface Garbage {
  readonly kind: 'garbage'
  readonly bytes: number
}

/** What a worker that does not keep to the contract says about a lease. */
export interface RogueStep {
  readonly afterMs: number
  /** `complete otherwise` gives another result. */
  readonly says: 'heartbeat' | 'complete' | 'complete otherwise' | 'fail'
  /** `foreign`: the newest one of anybody else. */
  readonly lease: 'own' | 'foreign' | 'made up'
  readonly reportId: string | null
}

export type DiskError = 'EIO' | 'ENOSPC'
export type SyncModel = 'clean-page' | 'reverted' | 'late' | 'dead'

/** What is damaged while the machine is off. Places are parts of the whole, from 0 to 1. */
export interface Damage {
  readonly kind: 'flip' | 'lose' | 'old'
  readonly file: number
  readonly place: number
}

export type PlannedTrouble = { readonly atMs: number } & Trouble

export type Trouble = EndTrouble | DiskTrouble | NetworkTrouble | WorkerTrouble | ClockTrouble

type Keep = 'none' | 'all' | 'random'

/** The coordinator comes to its end, or stands still. */
export type EndTrouble =
  | {
      readonly kind: 'power loss'
      readonly keep: Keep
      readonly downMs: number
      readonly damage: readonly Damage[]
    }
  | { readonly kind: 'kill coordinator'; readonly downMs: number }
  /** Power is lost, or the process killed, at the n-th disk call from then on. */
  | {
      readonly kind: 'end at call'
      readonly how: 'crash' | 'kill'
      readonly when: 'before' | 'after'
      readonly calls: number
      readonly keep: Keep
      readonly downMs: number
    }
  | { readonly kind: 'pause coordinator'; readonly forMs: number }

export type DiskTrouble =
  | {
      readonly kind: 'disk error'
      readonly code: DiskError
      readonly on: DiskCalls
      readonly times: number
    }
  | { readonly kind: 'failed sync'; readonly model: SyncModel; readonly landed: number }
  | { readonly kind: 'short write'; readonly times: number }
  | { readonly kind: 'disk full'; readonly leftBytes: number; readonly forMs: number }
  | { readonly kind: 'drop pages' }

/** `who`: a client, worker or rogue, counted through all of them. */
type NetworkTrouble = ConnectionTrouble | PartitionTrouble

export type ConnectionTrouble =
  | { readonly kind: 'reset'; readonly who: number }
  | { readonly kind: 'half open'; readonly who: number }
  | { readonly kind: 'stall'; readonly who: number; readonly forMs: number }
  | { readonly kind: 'lose answers'; readonly who: number; readonly forMs: number }

export interface PartitionTrouble {
  readonly kind: 'partition'
  readonly who: number
  readonly forMs: number
}

type WorkerTrouble =
  | { readonly kind: 'kill worker'; readonly worker: number; readonly downMs: number }
  | { readonly kind: 'pause worker'; readonly worker: number; readonly forMs: number }

/** Of the wall clock on the coordinator's machine. */
type ClockTrouble =
  | { readonly kind: 'step clock'; readonly byMs: number }
  | { readonly kind: 'drift clock'; readonly rate: number }

export type DiskCalls = 'write' | 'sync' | 'open' | 'read' | 'rename' | 'any'
export type TroubleKind = Trouble['kind']
