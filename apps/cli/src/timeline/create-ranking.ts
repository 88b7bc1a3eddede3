import type { LanesBy, Ranking } from './ranking.js'
import { TaskRanking } from './task-ranking.js'
import { WorkerRanking } from './worker-ranking.js'

export function createRanking(lanesBy: LanesBy, most: number): Ranking {
  return lanesBy === 'tasks' ? new TaskRanking(most) : new WorkerRanking(most)
}
