import type { CheckpointCounts } from '../evidence/coordinator-lines.js'
import type { Evidence } from '../evidence/evidence.js'
import type { Parcels } from '../evidence/parcels.js'
import { retentionTasks } from '../fleet/fleet.js'
import { type Case, openCase } from './case.js'
import { CopyCheck } from './copy-check.js'
import { findWrongCounters, findWrongStarts } from './counters.js'
import {
  findReportsByNobody,
  findUnexplainedGrants,
  findUngrantedExecutions,
} from './executions.js'
import { Found } from './found.js'
import { findWrongRefusals, ReserveWatch } from './full-disk.js'
import { LogOverview } from './log-overview.js'
import { findLostTasks, findWrongEnds } from './nothing-is-lost.js'
import { Replay } from './replay.js'
import { findWordsAfterTheLast, findWrongAnswers, findWrongResults } from './reports.js'
import { addUp, count, type Tally } from './tally.js'

/** What must hold of tasks, each by itself, with what finds where it does not. */
const checksOfTasks = {
  'nothing acknowledged is lost': findLostTasks,
  'every task has its one end': findWrongEnds,
  'the log is possible': ({ history }) => history.faults,
  'answers to reports are what the log says': findWrongAnswers,
  'nothing follows the last word on a lease': findWordsAfterTheLast,
  'results are what handlers returned': findWrongResults,
  'every execution has a lease of its own': findUngrantedExecutions,
  'every second execution is explained': findUnexplainedGrants,
  'what is reported was executed': findReportsByNobody,
} as const satisfies Record<string, (it: Case) => Iterable<string>>

/** And of all of it. */
type CheckOfAll =
  | 'a request id is one task'
  | 'the log is possible'
  | 'the copy of the log is what is left of it'
  | 'the log replays to one sound state'
  | 'the metrics say what the log says'
  | 'every start is counted'
  | 'only a full disk refuses, and it passes'
  | 'work goes on while a full disk refuses'

export type Check = keyof typeof checksOfTasks | CheckOfAll

export interface Violation {
  readonly check: string
  /** The first of them. */
  readonly found: readonly string[]
  readonly count: number
}

/** The totals, exact. */
export interface Verdict
  extends Omit<
    Tally,
    'possibleDuplicates' | 'confirmedDuplicates' | 'tasks' | 'extensions' | 'failures'
  > {
  readonly violations: readonly Violation[]
  readonly duplicates: { readonly possible: number; readonly confirmed: number }
  /** Executions without a grant of their own, and grants without an end of the one before. */
  readonly unexplained: number
  readonly checkpoints: CheckpointCounts
  /** How often it was watched what goes on while submissions are refused. */
  readonly reserveWatched: number
}

/** Goes through the evidence once; nothing of it stays in memory but one parcel at a time. */
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
  findings.take('the log is possible', overview.faults)
  findings.take('a request id is one task', overview.repeated)
  findings.take('the copy of the log is what is left of it', copy.faults)
  findings.take('the log replays to one sound state', replay.faults)
  findings.take('work goes on while a full disk refuses', reserve.faults)
  const { refusals, faults } = evidence
  findings
    .of('the metrics say what the log says')
    .addAll(findWrongCounters(evidence, overview, tally))
  findings.of('every start is counted').addAll(findWrongStarts(evidence))
  findings.of('only a full disk refuses, and it passes').addAll(findWrongRefusals(refusals, faults))
  return summarizeCounts(tally, evidence, findings, reserve.count)
}

/** What the witnesses saw goes to the parcels, and what only the whole log tells is found out on the way. */
async function readWhole(evidence: Evidence, parcels: Parcels) {
  const overview = new LogOverview(retentionTasks)
  const replay = new Replay(evidence.checkpoints)
  const copy = new CopyCheck(evidence.left)
  const reserve = new ReserveWatch(evidence)
  for await (const logged of evidence.logged) {
    const { record } = logged
    // Where it stands is asked before it ends the lease that says so.
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
      findings.of('every second execution is explained').count,
    checkpoints: coordinator.checkpoints,
    reserveWatched,
    violations: findings.violations,
  }
}

/** What was found, by check. */
class Findings {
  readonly #found = new Map<Check, Found>()

  of(check: Check): Found {
    const found = this.#found.get(check) ?? new Found()
    this.#found.set(check, found)
    return found
  }

  take(check: Check, found: Found): void {
    this.of(check).join(found)
  }

  get violations(): Violation[] {
    return [...this.#found]
      .filter(([, { count }]) => count > 0)
      .map(([check, { first, count }]) => ({ check, found: first, count }))
  }
}

export function violation(check: string, faults: readonly string[]): Violation {
  const found = new Found()
  found.addAll(faults)
  return { check, found: found.first, count: found.count }
}
