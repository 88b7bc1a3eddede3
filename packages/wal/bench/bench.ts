import type { WorkDirectory } from './directory.js'
import type { Pace } from './options.js'
import type { Progress } from './progress.js'

/** What every measurement is given. */
export interface Bench {
  readonly pace: Pace
  readonly directory: WorkDirectory
  readonly progress: Progress
}
