import { type Case, openCase } from './case.js'
import { findWrongCounters, findWrongEpochs, possibleDuplicates } from './checks/counters.js'
import {
  findReportsByNobody,
  findUnexplainedGrants,
  findUngrantedExecutions,
} from './checks/executions.js'
import { findLostTasks, findRepeatedTasks, findWrongEnds } from './checks/nothing-is-lost.js'
import { findWordsAfterTheLast, findWrongAnswers, findWrongResults } from './checks/reports.js'
import { findBrokenState } from './checks/state.js'
import type { Evidence } from './evidence.js'

/** What must hold, each with what finds where it does not. */
const checks = {
  'nothing acknowledged is lost': findLostTasks,
  'a request id is one task': findRepeatedTasks,
  'every task has its one end': findWrongEnds,
  'the log is possible': ({ history }) => history.faults,
  'answers to reports are what the log says': findWrongAnswers,
  'nothing follows the last word on a lease': findWordsAfterTheLast,
  'results are what handlers returned': findWrongResults,
  'every execution has a lease of its own': findUngrantedExecutions,
  'every second execution is explained': findUnexplainedGrants,
  'what is reported was executed': findReportsByNobody,
  'the metrics say what the log says': findWrongCounters,
  'every epoch has its number': findWrongEpochs,
  'the log replays to one sound state': findBrokenState,
} as const satisfies Record<string, (it: Case) => Iterable<string>>

export type Check = keyof typeof checks

export interface Violation {
  readonly check: string
  /** The first of them. */
  readonly found: readonly string[]
  readonly count: number
}

/** The totals, exact. */
export interface Verdict {
  readonly violations: readonly Violation[]
  readonly acknowledged: number
  /** Acknowledged tasks that are not in the log, or have come to no end. */
  readonly lost: number
  readonly completed: number
  readonly failed: number
  readonly dead: number
  readonly grants: number
  /** Executions that started. */
  readonly executions: number
  /** Grants of which their worker never knew: the answer was lost on the way. */
  readonly answersLost: number
  /** Grants that their worker knew of, and whose handler did not begin before it was ended. */
  readonly notBegun: number
  readonly expirations: number
  readonly duplicates: { readonly possible: number; readonly confirmed: number }
  /** Executions without a grant of their own, and grants without an end of the one before. */
  readonly unexplained: number
}

const shownMax = 10

export function judge(evidence: Evidence): Verdict {
  const it = openCase(evidence)
  const found = Object.entries(checks).map(([check, find]) => [check, [...find(it)]] as const)
  const counts = new Map(found.map(([check, faults]) => [check, faults.length]))
  const countOf = (check: Check) => counts.get(check) ?? 0
  return {
    ...{ ...totals(it), ...endsOf(it) },
    unexplained:
      countOf('every execution has a lease of its own') +
      countOf('every second execution is explained'),
    violations: found
      .filter(([, faults]) => faults.length > 0)
      .map(([check, faults]) => violation(check, faults)),
  }
}

export function violation(check: string, faults: readonly string[]): Violation {
  return { check, found: faults.slice(0, shownMax), count: faults.length }
}

function totals({ evidence, history, started, workerLines }: Case) {
  const notStarted = [...history.leases.keys()].filter((leaseId) => !started.has(leaseId))
  const answersLost = notStarted.filter((leaseId) => !workerLines.has(leaseId)).length
  const ended = (taskId: number) => history.tasks.get(taskId)?.ends.length === 1
  return {
    acknowledged: evidence.acknowledged.size,
    lost: [...evidence.acknowledged.values()].filter((taskId) => !ended(taskId)).length,
    grants: history.counts.LeaseGranted,
    executions: evidence.executions.filter(({ what }) => what === 'started').length,
    ...{ answersLost, notBegun: notStarted.length - answersLost },
    expirations: history.counts.LeaseExpired,
    duplicates: {
      possible: possibleDuplicates(history),
      confirmed: history.counts.TaskCancelled,
    },
  }
}

function endsOf({ history }: Case) {
  const ends = [...history.tasks.values()].flatMap((task) => task.ends)
  const count = (end: string) => ends.filter((it) => it === end).length
  return { completed: count('COMPLETED'), failed: count('FAILED'), dead: count('DEAD') }
}
