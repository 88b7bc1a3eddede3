import type { FaultCounts } from './faults.js'
import type { Options } from './options.js'
import type { Verdict } from './verdict.js'

/** What a run comes to. */
export interface Summary extends Verdict, FaultCounts {
  readonly seed: number
  /** From the first submission to the end of the last task. */
  readonly seconds: number
  readonly tasksPerSecond: number
  /** Where everything was kept that was written, when something was found. */
  readonly directory?: string
}

export function summarize(
  { seed }: Options,
  verdict: Verdict,
  counts: FaultCounts,
  elapsedMs: number,
): Summary {
  const seconds = Math.round(elapsedMs / 100) / 10
  const { acknowledged } = verdict
  return {
    ...{ ...verdict, ...counts, seed, seconds },
    tasksPerSecond: Math.round(acknowledged / seconds),
  }
}

export function describeSummary(summary: Summary): string {
  const { duplicates, seconds, tasksPerSecond } = summary
  return `seed                  ${summary.seed}
time                  ${seconds} s, ${tasksPerSecond} tasks/s
faults                ${summary.kills} kills (${summary.coordinatorKills} of the coordinator), ${summary.stops} stops, ${summary.restarts} restarts
network               ${summary.cuts} cuts, ${summary.stalls} stalls
acknowledged          ${summary.acknowledged}, of which ${summary.lost} lost
ended                 ${summary.completed} completed, ${summary.failed} failed, ${summary.dead} dead
grants                ${summary.grants}, of which ${summary.expirations} expired
executions            ${summary.executions} = grants - ${summary.answersLost} answers lost - ${summary.notBegun} not begun
duplicate executions  ${duplicates.possible} possible, ${duplicates.confirmed} confirmed, ${summary.unexplained} unexplained
${describeViolations(summary)}`
}

function describeViolations({ violations, directory }: Summary): string {
  if (violations.length === 0) return 'everything holds'
  const parts = violations.flatMap(({ check, found, count }) => [
    `VIOLATED              ${check}: ${count}`,
    ...found.map((fault) => `                      ${fault}`),
  ])
  return [...parts, ...(directory ? [howToLook(directory)] : [])].join('\n')
}

function howToLook(directory: string): string {
  return `Everything is kept in ${directory}:
  acknowledged.jsonl  what the coordinator acknowledged to the client
  executions/         what handlers wrote when they began and when they returned
  workers/            the log of each worker, by name and life
  coordinator/        the log lines of each life of the coordinator; data/ is its log of records`
}
