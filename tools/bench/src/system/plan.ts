import type { Handlers } from './contender.js'

export type Work =
  | 'sync'
  | 'submit'
  | 'submit with id'
  | 'lease+complete'
  | 'life'
  | 'life by handlers'
  | 'heartbeat'
  | 'pick-up'

/** The shape of a load: the number of connections, and of requests in flight on each. */
export interface Shape {
  readonly connections: number
  readonly inFlight: number
}

export interface Plan {
  readonly rounds: number
  /** Measure only the latency of submissions under load. */
  readonly isOfLatency: boolean
  /** Duration of each measurement, and of the warm-up before it. */
  readonly seconds: number
  readonly warmUpSeconds: number
  /** Duration of whole lives in each new process whose code is compiled while it runs. */
  readonly compileSeconds: number
  readonly shapes: readonly Shape[]
  /**
   * Numbers of waiting tasks with which submitting and leasing are measured again, and the shapes
   * for that.
   */
  readonly waiting: readonly number[]
  readonly shapesBesideWaiting: readonly Shape[]
  /** Number of leases for which heartbeats are sent, and the shape of that load. */
  readonly heldLeases: number
  readonly shapesOfHeartbeats: readonly Shape[]
  readonly pickUps: number
  /** Shares of the highest submission rate at which latency is measured. */
  readonly loads: readonly number[]
}

const alone = { connections: 1, inFlight: 1 }
const many = { connections: 64, inFlight: 1 }
const deep = { connections: 16, inFlight: 64 }

export const fullPlan: Plan = {
  rounds: 3,
  isOfLatency: false,
  seconds: 2,
  warmUpSeconds: 0.5,
  compileSeconds: 1,
  shapes: [alone, many, deep],
  waiting: [1000, 100_000, 1_000_000],
  shapesBesideWaiting: [many, deep],
  heldLeases: 10_000,
  shapesOfHeartbeats: [alone, many, deep],
  pickUps: 300,
  loads: [0.1, 0.25, 0.5, 0.75, 0.9],
}

export const quickPlan: Plan = {
  rounds: 1,
  isOfLatency: false,
  seconds: 0.4,
  warmUpSeconds: 0.2,
  compileSeconds: 0.5,
  shapes: [alone, many, deep],
  waiting: [],
  shapesBesideWaiting: [],
  heldLeases: 1000,
  shapesOfHeartbeats: [deep],
  pickUps: 50,
  loads: [0.5],
}

/** As many concurrent handlers as there would be requests in flight. */
export function handlersOf({ connections, inFlight }: Shape): Handlers {
  return { connections, atOnce: inFlight }
}
