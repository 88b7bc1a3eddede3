import type { CheckpointCounts } from '../evidence/coordinator-lines.js'
import type { Evidence } from '../evidence/evidence.js'
import type { Parcels } from '../evidence/parcels.js'
import { retentionTasks } from '../fleet/fleet.js'
import { type Case, openCase } from './case.js'
import { CopyCheck } from './copy-check.js'
import { findWrongCounters, findWrongStarts } from './counters.js'
import {
  findReportsWithoutExecution,
  findUnexplainedGrants,
  findUngrantedExecutions,
} from './executions.js'
import { FaultSample } from './fault-sample.js'
import { findWrongRefusals, ReserveWatch } from './full-disk.js'
import { LogOverview } from './log-overview.js'
import { findLostTasks, findWrongEnds } from './nothing-is-lost.js'
import { Replay } from './replay.js'
import { findReportsAfterFinalAnswer, findWrongAnswers, findWrongResults } from './reports.js'
import { addUp, count, type Tally } from './tally.js'

/** Checks of single tasks; each yields the faults it finds. */
const checksOfTasks = {
  'nothing acknowledged is lost': findLostTasks,
  'every task ends exactly once': findWrongEnds,
  'the log follows the specification': ({ history }) => history.faults,
  'answers to reports match the log': findWrongAnswers,
  'no report follows the final answer to a lease': findReportsAfterFinalAnswer,
  'results match what handlers returned': findWrongResults,
  'every execution has a lease of its own': findUngrantedExecutions,
  'every repeated execution is explained': findUnexplainedGrants,
  'every reported task was executed': findReportsWithoutExecution,
} as const satisfies Record<string, (it: Case) => Iterable<string>>

/** Checks of the whole run. */
type CheckOfAll =
  | 'a request id names one task'
  | 'the log follows the specification'
  | 'the copy matches the log'
  | 'the log replays to one valid state'
  | 'the metrics match the log'
  | 'every start is counted'
  | 'submissions are rejected only on a full disk'
  | 'work continues on a full disk'

export type Check = keyof typeof checksOfTasks | CheckOfAll

export interface Violation {
  readonly check: string
  /** The first few faults. */
  readonly found: readonly string[]
  readonly count: number
}

/** The exact totals. */
export interface Verdict
  extends Omit<
    Tally,
    'possibleDuplicates' | 'confirmedDuplicates' | 'tasks' | 'extensions' | 'failures'
  > {
  readonly violations: readonly Violation[]
  readonly duplicates: { readonly possible: number; readonly confirmed: number }
  /** Executions without their own grant, and grants although the attempt before had not ended. */
  readonly unexplained: number
  readonly checkpoints: CheckpointCounts
  /** Number of times that work was watched while submissions were rejected. */
  readonly reserveWatched: number
}

/** Reads the evidence once, and keeps only one parcel at a time in memory. */
export async function judge(evidence: Evidence, parcels: Parcels): Promise<Verdict> {
  const findings = new Findings()
  const whole = await readWhole(evidence, parcels)
  const { overview, replay, copy, reserve } = whole
  const tallies: Tally[] = []
  for (const parcel of parcels.open()) {
    const it = openCase(parcel, overview.forgettings)
    for (const [check, find] of Object.entries(checksOfTasks)) {
      findings.of(check as Check).addAll(find(it))
    }
    tallies.push(count(it))
  }
  const tally = addUp(tallies)
  findings.take('the log follows the specification', overview.faults)
  findings.take('a request id names one task', overview.repeated)
  findings.take('the copy matches the log', copy.faults)
  findings.take('the log replays to one valid state', replay.faults)
  findings.take('work continues on a full disk', reserve.faults)
  const { refusals, faults } = evidence
  findings.of('the metrics match the log').addAll(findWrongCounters(evidence, overview, tally))
  findings.of('every start is counted').addAll(findWrongStarts(evidence))
  findings
    .of('submissions are rejected only on a full disk')
    .addAll(findWrongRefusals(refusals, faults))
  return summarizeCounts(tally, evidence, findings, reserve.count)
}

/** Sorts the evidence into parcels; checks that need the whole log run on the way. */
async function readWhole(evidence: Evidence, parcels: Parcels) {
  const overview = new LogOverview(retentionTasks)
  const replay = new Replay(evidence.checkpoints)
  const copy = new CopyCheck(evidence.left)
  const reserve = new ReserveWatch(evidence)
  for await (const logged of evidence.logged) {
    const { record } = logged
    // Look up the task first: `read` may end the lease that leads to it.
    if (record.type !== 'TasksForgotten') parcels.put('logged', overview.taskOf(record), logged)
    for (const reader of [overview, replay, copy, reserve]) reader.read(logged)
  }
  replay.end()
  copy.end()
  reserve.end()
  for await (const it of evidence.acknowledged) parcels.put('acknowledged', it.taskId, it)
  for await (const it of evidence.executions) parcels.put('executions', it.taskId, it)
  for await (const it of evidence.workerLines) parcels.put('workerLines', it.taskId, it)
  for await (const it of evidence.live) parcels.put('live', it.taskId, it)
  return { overview, replay, copy, reserve }
}

function summarizeCounts(
  tally: Tally,
  { coordinator }: Evidence,
  findings: Findings,
  reserveWatched: number,
): Verdict {
  const { possibleDuplicates, confirmedDuplicates, tasks, extensions, failures, ...totals } = tally
  return {
    ...totals,
    duplicates: { possible: possibleDuplicates, confirmed: confirmedDuplicates },
    unexplained:
      findings.of('every execution has a lease of its own').count +
      findings.of('every repeated execution is explained').count,
    checkpoints: coordinator.checkpoints,
    reserveWatched,
    violations: findings.violations,
  }
}

/** The faults of each check. */
class Findings {
  readonly #found = new Map<Check, FaultSample>()

  of(check: Check): FaultSample {
    const found = this.#found.get(check) ?? new FaultSample()
    this.#found.set(check, found)
    return found
  }

  take(check: Check, found: FaultSample): void {
    this.of(check).join(found)
  }

  get violations(): Violation[] {
    return [...this.#found]
      .filter(([, { count }]) => count > 0)
      .map(([check, { first, count }]) => ({ check, found: first, count }))
  }
}

export function violation(check: string, faults: readonly string[]): Violation {
  const found = new FaultSample()
  found.addAll(faults)
  return { check, found: found.first, count: found.count }
}
