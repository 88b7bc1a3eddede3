import { Violation as AnyViolation, type Holds, holds as holdsAny } from '@tenure/harness'

export type Violation = AnyViolation<Check>
export const Violation: new (check: Check, message: string, options?: ErrorOptions) => Violation =
  AnyViolation
export const holds: Holds<Check> = holdsAny

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
}

/** All checks, by their names. */
export type Check = ClearCheck | VagueCheck

/** Checks of one property: their failure alone says what is wrong. */
type ClearCheck =
  | 'a lease is granted once'
  | 'a result is what its handler returned'
  | 'a task has one owner'
  | 'checkpoint and tail match a full replay'
  | 'the live state matches a replay'
  | 'nothing acknowledged is lost'
  | 'only damaged files are quarantined'
  | 'two coordinators lose nothing silently'
  | 'only one coordinator writes'
  | 'tasks are leased in order'
  | 'every answer matches the log'
  | 'the log can be replayed'
  | 'the log is legal'
  | 'the naive model has the same state'
  | 'the coordinator accepts the shipped worker'
  | 'every applied record is reported'
  | 'a written record never changes'
  | 'the shared log is legal'
  | 'a take-over moves no time'
  | 'only silence deposes a coordinator'
  | 'a lost entry is noticed'
  | 'a coordinator decides by the shared log'
  | 'a copy is a beginning of the shared log'

/** Checks that almost any mistake may fail: only the message says what is wrong. */
export type VagueCheck =
  | LossCheck
  | 'a client gets only expected answers'
  | 'all work ends'
  | 'no unexpected error occurs'
  | 'nothing is answered before it is durable'
  | 'every failure follows from a planned fault'
  | 'the coordinator stops'
  | 'no operation hangs'
  | 'workers stop'
  | 'standbys follow'

/** Failures that lose the thread that plays the scenario. */
export type LossCheck = 'a scenario leaves its thread alive' | 'a scenario ends'
