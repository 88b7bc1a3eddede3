import {
  Coordinator,
  type CoordinatorParts,
  type ReplayedLog,
  recover,
  type Session,
} from '@tenure/coordinator-server/internal'
import type { Answer, Request } from '@tenure/protocol'
import type { State } from '@tenure/state-machine'

/** The explored code: the shipped code, or in a test of the explorer a copy with a fault. */
export interface Subject {
  createCoordinator(parts: CoordinatorParts): ExploredCoordinator
  recover(log: ReplayedLog): Promise<State>
}

export interface ExploredCoordinator {
  start(): Promise<void>
  join(session: Session, capacity: number): void
  handle(request: Request, session: Session, respond: (answer: Answer) => void): void
  leave(session: Session): void
}

export const shipped: Subject = {
  createCoordinator: (parts) => new Coordinator(parts),
  recover: (log) => recover(log),
}
