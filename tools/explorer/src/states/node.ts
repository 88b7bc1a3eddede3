import type { DurableState } from './durable-state.js'

/** A state of the whole system that was reached, and how to make it again. */
export interface Node {
  /** Its place in the order of discovery. */
  readonly index: number
  readonly durable: DurableState
  readonly key: string
  readonly recipe: Recipe
  /** The long way, for where the short one leads elsewhere. */
  readonly detour: Recipe | undefined
}

/** What is known of the nodes that have one state of the log. */
export class Visit {
  readonly byKey = new Map<string, Node>()
  readonly unexpanded: Node[] = []
  /** When a coordinator has been started with this state. */
  readonly startedAt = new Set<number>()
}

/** Where a coordinator begins, and what happens to it from there. */
export interface Recipe {
  readonly root: Root
  readonly actions: readonly number[]
}

export type Root = Running | Restarted

/**
 * A coordinator that has been running for a while. What it has in memory beside the state follows
 * from the requests that are unanswered: they are sent to it once more, at the times of then.
 */
export interface Running {
  readonly kind: 'running'
  readonly durable: DurableState
  readonly now: number
  readonly isFull: boolean
  readonly asked: readonly Asked[]
  /** The places in `asked` of those that were not answered, in the order in which they had come. */
  readonly order: readonly number[]
}

/** A request, or timers that go off. */
export interface Asked {
  readonly action: number
  readonly arrivedAt: number
  readonly decidedAt: number
  /** Whether the first worker seems to be full then. */
  readonly isFull: boolean
}

/** A coordinator that has just been started on the records that survived. */
interface Restarted {
  readonly kind: 'restarted'
  readonly durable: DurableState
  readonly wallMs: number
}
