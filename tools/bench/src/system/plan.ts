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

/** How the load asks: so many connections, each with so many requests on their way. */
export interface Shape {
  readonly connections: number
  readonly inFlight: number
}

export interface Plan {
  readonly rounds: number
  /** Nothing but how long a submission takes under load. */
  readonly isOfLatency: boolean
  /** Of each measurement, and before it without counting. */
  readonly seconds: number
  readonly warmUpSeconds: number
  /** Of whole lives, in each new process of what is compiled while it runs. */
  readonly compileSeconds: number
  readonly shapes: readonly Shape[]
  /** Beside how many waiting tasks submitting and leasing are measured again, and with which shapes. */
  readonly waiting: readonly number[]
  readonly shapesBesideWaiting: readonly Shape[]
  /** On how many leases heartbeats are sent, and how. */
  readonly heldLeases: number
  readonly shapesOfHeartbeats: readonly Shape[]
  readonly pickUps: number
  /** Shares of what was submitted at most, at which latency is looked at. */
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

/** As many tasks are handled at once as there would be requests on their way. */
export function handlersOf({ connections, inFlight }: Shape): Handlers {
  return { connections, atOnce: inFlight }
}
