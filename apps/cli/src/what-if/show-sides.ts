import type { Forecast, Outcomes } from '@tenure/history'
import { type Column, showColumns } from '../show/columns.js'
import type { Look } from '../terminal/look.js'
import { showCount } from '../terminal/numbers.js'
import { showSpan } from '../terminal/times.js'

interface Row {
  readonly name: string
  readonly of: (outcomes: Outcomes) => number | undefined
  readonly show: (amount: number) => string
}

function count(name: string, of: Row['of']): Row {
  return { name, of, show: showCount }
}

function span(name: string, of: Row['of']): Row {
  return { name, of, show: showSpan }
}

const rows: readonly Row[] = [
  count('leases granted', (o) => o.executions),
  count('  after one that had expired', (o) => o.executionsAfterExpiry),
  count('leases expired', (o) => o.leasesExpired),
  span('  recovery: median', (o) => o.recovery.medianMs),
  span('  recovery: 99 of 100 within', (o) => o.recovery.p99Ms),
  span('  recovery: longest', (o) => o.recovery.maxMs),
  count('reports CANCELLED', (o) => o.lateReports),
  count('reports of failure', (o) => o.failures),
  count('  that were retried', (o) => o.retries),
  span('  waited for that, in all', (o) => o.backoffMs),
  count('tasks that ran more than once', (o) => o.tasksRunAgain),
  count('tasks completed', (o) => o.tasksCompleted),
  count('tasks failed for good', (o) => o.tasksFailed),
  count('tasks stopped as poison', (o) => o.tasksPoisoned),
  count('tasks stopped by an operator', (o) => o.tasksStopped),
  count('tasks whose end is not known', (o) => o.tasksUnknown),
]

/** Recorded, and under the knobs that were tried. */
export function showSides({ recorded, underKnobs }: Forecast, look: Look): string {
  const columns: readonly Column<Row>[] = [
    { head: '', of: ({ name }) => name },
    { head: 'recorded', right: true, of: (row) => show(row, recorded) },
    { head: 'under these knobs', right: true, of: (row) => show(row, underKnobs) },
    { head: 'difference', right: true, of: (row) => showDifference(row, recorded, underKnobs) },
  ]
  return showColumns(columns, rows, look)
}

function show({ of, show }: Row, outcomes: Outcomes): string {
  const amount = of(outcomes)
  return amount === undefined ? '' : show(amount)
}

/** Nothing where nothing differs: what does is easier to see. */
function showDifference({ of, show }: Row, recorded: Outcomes, underKnobs: Outcomes): string {
  const [before, after] = [of(recorded), of(underKnobs)]
  if (before === undefined || after === undefined || before === after) return ''
  return `${after > before ? '+' : '-'}${show(Math.abs(after - before))}`
}
