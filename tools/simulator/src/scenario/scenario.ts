import type { RetryPolicy } from '@tenure/options'

/**
 * The events of one simulated world, as plain data. A scenario is drawn from a seed, kept in a
 * file, and shrunk by deletion. Random choices during the run are drawn from its `seed`.
 */
export interface Scenario {
  readonly seed: number
  readonly knobs: ScenarioKnobs
  readonly workers: readonly WorkerPlan[]
  readonly clients: number
  readonly operations: readonly Operation[]
  readonly faults: readonly PlannedTrouble[]
  /** From this time on nothing fails, and all work has to end. */
  readonly healAtMs: number
  /** Absent for one coordinator with a log of its own. */
  readonly sharedLog?: SharedLogPlan | undefined
}

/** Several coordinators, and the engine of their log. */
export interface SharedLogPlan {
  /** How far each coordinator's wall clock is ahead at the start. There are as many coordinators. */
  readonly aheadMs: readonly number[]
  readonly ttlMs: number
  /** Maximum travel time of a message between a coordinator and the engine. */
  readonly engineMsMax: number
  /** Per thousand messages: how many are lost, and how many appends arrive after their sender gave up. */
  readonly lostPerThousand: number
  readonly latePerThousand: number
  readonly bytesMax: number
}

export interface ScenarioKnobs {
  readonly leaseDurationMs: number
  readonly heartbeatIntervalMs: number
  readonly poisonThreshold: number
  readonly retentionMs: number
  readonly retentionTasks: number
  readonly waitingTasksMax: number
  /** Maximum duration of a disk call; 0 makes writes happen on the event loop. */
  readonly diskMsMax: number
  /** Maximum travel time and size of a piece of data. */
  readonly networkMsMax: number
  readonly pieceBytesMax: number
  /** Rate of the coordinator's own clocks. */
  readonly clockRate: number
  /**
   * After this many of a thousand answers, the disk is copied, to test a start after a power loss.
   */
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
  /** The behaviour of its handler at each attempt; in further attempts it returns immediately. */
  readonly attempts: readonly HandlerPlan[]
}

export interface HandlerPlan {
  readonly afterMs: number
  /** `hangs`: until it is told to end; `deaf`: until it is terminated. */
  readonly ends: 'returns' | 'throws' | 'crashes' | 'hangs' | 'deaf'
}

/** An operation at a time. `task` is the number of a submission. */
export type Operation = { readonly atMs: number } & OperationBody

type OperationBody = Submission | Question | RogueOperation | Stop | Garbage

export type Submission = { readonly client: number } & (
  | { readonly kind: 'submit'; readonly number: number; readonly task: TaskPlan }
  /** Repeats a request_id, with the same payload or with another one. */
  | { readonly kind: 'resubmit'; readonly task: number; readonly isOther: boolean }
)

/** A query that is repeated until it is answered. */
export type Question = { readonly client: number } & (
  | { readonly kind: 'kill' | 'get' | 'why' | 'history'; readonly task: number }
  | { readonly kind: 'list' | 'stats' | 'checkpoint' }
)

/** Leases a task of the queue, then sends the steps about it. */
export interface RogueOperation {
  readonly kind: 'rogue'
  readonly rogue: number
  readonly queue: string
  readonly steps: readonly RogueStep[]
}

type Stop =
  | { readonly kind: 'stop worker'; readonly worker: number; readonly downMs: number }
  | {
      readonly kind: 'stop coordinator'
      readonly downMs: number
      readonly coordinator?: number
    }

/** Bytes that are not a valid protocol. */
interface Garbage {
  readonly kind: 'garbage'
  readonly bytes: number
}

/** A statement about a lease by a worker that breaks the contract. */
export interface RogueStep {
  readonly afterMs: number
  /** `complete otherwise` sends another result. */
  readonly says: 'heartbeat' | 'complete' | 'complete otherwise' | 'fail'
  /** `foreign`: the newest lease of any other worker. */
  readonly lease: 'own' | 'foreign' | 'made up'
  readonly reportId: string | null
}

export type DiskError = 'EIO' | 'ENOSPC'
export type SyncModel = 'clean-page' | 'reverted' | 'late' | 'dead'

/** Damage while the machine is off. Positions are fractions of the whole, from 0 to 1. */
export interface Damage {
  readonly kind: 'flip' | 'lose' | 'old'
  readonly file: number
  readonly place: number
}

/** `coordinator`: which one it meets, if there are several. */
export type PlannedTrouble = { readonly atMs: number; readonly coordinator?: number } & Trouble

export type Trouble =
  | EndTrouble
  | DiskTrouble
  | NetworkTrouble
  | WorkerTrouble
  | ClockTrouble
  | EngineTrouble

type Keep = 'none' | 'all' | 'random'

/** The coordinator ends or stops running. */
export type EndTrouble =
  | {
      readonly kind: 'power loss'
      readonly keep: Keep
      readonly downMs: number
      readonly damage: readonly Damage[]
    }
  | { readonly kind: 'kill coordinator'; readonly downMs: number }
  /** Power is lost, or the process is killed, at the n-th disk call from then on. */
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

/** `who`: the number of a client, worker or rogue, counted over all of them. */
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

/** Affects the wall clock on the coordinator's machine. */
type ClockTrouble =
  | { readonly kind: 'step clock'; readonly byMs: number }
  | { readonly kind: 'drift clock'; readonly rate: number }

/** Meets the engine of a shared log, or one coordinator's connection to it. */
export type EngineTrouble =
  | { readonly kind: 'engine leaderless'; readonly forMs: number }
  | { readonly kind: 'engine full'; readonly forMs: number }
  | { readonly kind: 'engine cut off'; readonly forMs: number }
  | { readonly kind: 'engine wiped' }
  | { readonly kind: 'engine forgets'; readonly entries: number }

export type DiskCalls = 'write' | 'sync' | 'open' | 'read' | 'rename' | 'any'
export type TroubleKind = Trouble['kind']

/** Which scenarios are drawn. By default one of four has a shared log. */
export type LogChoice = 'any' | 'shared' | 'own'
