import type { Verdict } from './checks/verdict.js'
import type { FaultCounts } from './faults/faults.js'
import type { Options } from './options.js'

/** The result of a run. */
export interface Summary extends Verdict, FaultCounts, RefusalCounts {
  readonly seed: number
  /** From the first submission to the end of the last task. */
  readonly seconds: number
  readonly tasksPerSecond: number
  /** Faults that could not be injected on this machine, and why. */
  readonly skipped: readonly string[]
  /** Directory of all files, if they were kept. */
  readonly directory?: string
}

/** Rejected because the disk was full. */
export interface RefusalCounts {
  readonly submissionsRefused: number
  readonly startsRefused: number
}

export function summarize(
  { seed }: Options,
  verdict: Verdict,
  counts: FaultCounts & RefusalCounts,
  skipped: readonly string[],
  elapsedMs: number,
): Summary {
  const seconds = Math.round(elapsedMs / 100) / 10
  const { acknowledged } = verdict
  return {
    ...verdict,
    ...counts,
    seed,
    seconds,
    skipped,
    tasksPerSecond: Math.round(acknowledged / seconds),
  }
}

/** The totals are at the end. */
export function describeSummary(summary: Summary): string {
  const { checkpoints, duplicates, seconds, tasksPerSecond } = summary
  return `seed                  ${summary.seed}
time                  ${seconds} s, ${tasksPerSecond} tasks/s
faults                ${summary.kills} kills (${summary.coordinatorKills} of the coordinator, ${summary.checkpointKills} of these at a checkpoint), ${summary.stops} stops, ${summary.restarts} restarts
network               ${summary.cuts} cuts, ${summary.stalls} stalls
disk                  ${describeDisk(summary)}
checkpoints           ${checkpoints.made} made, ${checkpoints.cut} interrupted, ${checkpoints.starts} starts from one
ended                 ${summary.completed} completed, ${summary.failed} failed, ${summary.dead} dead
grants                ${summary.grants}, of which ${summary.expirations} expired
executions            ${summary.executions} = grants - ${summary.answersLost} answers lost - ${summary.notBegun} not started
reports refused       ${summary.refusedReports}, all as CANCELLED
${describeViolations(summary)}
acknowledged          ${summary.acknowledged}, of which ${summary.lost} lost
duplicate executions  ${duplicates.possible} possible, ${duplicates.confirmed} confirmed, ${summary.unexplained} unexplained`
}

function describeDisk(summary: Summary): string {
  if (summary.skipped.length > 0) return `skipped: ${summary.skipped.join('; ')}`
  const { fills, submissionsRefused, startsRefused, reserveWatched } = summary
  return `filled ${fills} times, ${submissionsRefused} submissions and ${startsRefused} starts refused, progress checked ${reserveWatched} times`
}

function describeViolations({ violations, directory }: Summary): string {
  const parts = violations.flatMap(({ check, found, count }) => [
    `VIOLATED              ${check}: ${count}`,
    ...found.map((fault) => `                      ${fault}`),
  ])
  if (violations.length === 0) parts.push('all checks hold')
  return [...parts, ...(directory ? [howToLook(directory)] : [])].join('\n')
}

function howToLook(directory: string): string {
  return `All files are kept in ${directory}:
  acknowledged.jsonl  submissions that the coordinator acknowledged
  executions/         lines that handlers wrote when they began and returned
  workers/            the log of each worker, by name and life
  coordinator/        the log lines of each coordinator process
  disk/data/          the rest of the record log; records.bin is the full copy
  faults.jsonl        faults with their targets and times`
}
