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

/** Every check there is, by the words with which it fails. */
export type Check = ClearCheck | VagueCheck

/** Checks of one thing: that it failed says what is wrong. */
type ClearCheck =
  | 'a lease is granted once'
  | 'a result is what its handler returned'
  | 'a task has one owner'
  | 'checkpoint and tail are what a replay gives'
  | 'live state is what a replay gives'
  | 'nothing acknowledged is lost'
  | 'of two coordinators neither loses anything unnoticed'
  | 'one coordinator writes'
  | 'tasks are leased in their order'
  | 'the log agrees with every answer'
  | 'the log can be replayed'
  | 'the log is legal'
  | 'the naive model has the same state'
  | 'the shipped worker makes sense to the coordinator'
  | 'what is applied is told'
  | 'what was decided stays so'

/** Checks that nearly anything may fail: only the message says what it was. */
export type VagueCheck =
  | LossCheck
  | 'a client gets answers it understands'
  | 'all work ends'
  | 'nothing comes as a surprise'
  | 'nothing is answered before it is durable'
  | 'only what fails makes it fail'
  | 'the coordinator stops'
  | 'what is begun comes to an end'
  | 'workers stop'

/** What a scenario does to the thread that plays it. */
export type LossCheck = 'a scenario does not end its thread' | 'a scenario ends'
