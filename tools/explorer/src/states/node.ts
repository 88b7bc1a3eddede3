import type { DurableState } from './durable-state.js'

/** A reached state of the whole system, and how to rebuild it. */
export interface Node {
  /** Its number in the order of discovery. */
  readonly index: number
  readonly durable: DurableState
  readonly key: string
  readonly recipe: Recipe
  /** The full recipe, for nodes whose short recipe leads elsewhere. */
  readonly detour: Recipe | undefined
}

/** Known facts about the nodes of one log state. */
export class Visit {
  readonly byKey = new Map<string, Node>()
  readonly unexpanded: Node[] = []
  /** Times at which a coordinator was started with this state. */
  readonly startedAt = new Set<number>()
}

/** The starting point of a coordinator, and the actions from there. */
export interface Recipe {
  readonly root: Root
  readonly actions: readonly number[]
}

export type Root = Running | Restarted

/**
 * A coordinator that has been running for a while. Its memory besides the state follows from the
 * unanswered requests, which are sent again at their original times.
 */
export interface Running {
  readonly kind: 'running'
  readonly durable: DurableState
  readonly now: number
  readonly isFull: boolean
  readonly asked: readonly RebuildStep[]
  /** Indexes in `asked` of the unanswered requests, in the order of their arrival. */
  readonly order: readonly number[]
}

/** A request, or timers that fire. */
export interface RebuildStep {
  readonly action: number
  readonly arrivedAt: number
  readonly decidedAt: number
  /** Whether the first worker reports at that time that it is full. */
  readonly isFull: boolean
}

/** A coordinator that has just been started on the surviving records. */
interface Restarted {
  readonly kind: 'restarted'
  readonly durable: DurableState
  readonly wallMs: number
}
