import type { Place, ServerProgram } from '../server.js'

/** A server with its data, to be killed and started again. */
export interface RecoveryCase extends ServerProgram {
  readonly system: string
  readonly name: string
  /** The most seconds that it should take, at full size. */
  readonly target?: number
  /** Makes the data without the server, where that can be done. */
  write?(directory: string): Promise<Held>
  /** Makes it through the server. */
  fill?(place: Place): Promise<Held>
  /** How many tasks it knows, to be held against what it was given. */
  countTasks(place: Place): Promise<number>
}

/** What a server holds: tasks, and in how many records they were written. */
export interface Held {
  readonly liveTasks: number
  readonly records: number
}

export interface Figure extends Held {
  readonly system: string
  readonly case: string
  /** From the kill to the first answer, the median of the rounds. */
  readonly seconds: number
  readonly least: number
  readonly most: number
  readonly rounds: number
  readonly pageCache: 'warm'
}

export interface Skipped {
  readonly system: string
  readonly case: string
  readonly skipped: string
}
