import type { Facts } from '@tenure/protocol'
import { countQueues, countTasks, getCounters, position } from '@tenure/state-machine'
import { longestQueues } from '@tenure/state-machine/internal'
import type { QuerySources } from './query-sources.js'

/** Maximum number of queues to report. */
const linesMax = 100
const queuesScannedMax = 10_000

/** Counts and positions: an overview of the coordinator. */
export function stats(sources: QuerySources): Facts {
  const { state, time, registry, startedAt, epoch, restarts, connections, disk, polls } = sources
  const { lastLsn, lastAt } = position(state)
  const queues = countQueues(state)
  const lines = longestLines(sources)
  return {
    lastLsn,
    lastAt,
    now: time.now(),
    startedAt,
    epoch,
    restarts,
    tasks: countTasks(state),
    counters: getCounters(state),
    queues,
    workers: registry.size,
    waitingPolls: polls.size,
    connections: connections?.(),
    ...(disk && diskFacts(disk())),
    lines,
    linesLeftOut: queues - lines.length,
  }
}

function diskFacts({ isFull, freeBytes }: { isFull: boolean; freeBytes: number }): Facts {
  const diskFreeBytes = freeBytes >= 0 ? Math.min(freeBytes, Number.MAX_SAFE_INTEGER) : undefined
  return { diskFull: isFull, diskFreeBytes }
}

function longestLines({ state, polls, requestedQueues }: QuerySources): Facts[] {
  const limits = { limit: linesMax, lookAtMax: queuesScannedMax }
  return longestQueues(state, limits).map((line) => {
    const lastAskedAt = requestedQueues.lastAt(line.queue)
    const facts = { ...line, pollsWaiting: polls.count(line.queue) }
    return lastAskedAt === undefined ? facts : { ...facts, lastAskedAt }
  })
}
