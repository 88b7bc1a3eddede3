import type { WorkerLine } from '../evidence/worker-lines.js'
import type { Case } from './case.js'
import type { Grant } from './history.js'

/** 004 §3: the answer to a worker's report matches what the log says about the lease. */
export function* findWrongAnswers({ history, workerLines }: Case): Generator<string> {
  for (const [leaseId, lines] of workerLines) {
    const grant = history.leases.get(leaseId)
    if (grant === undefined) {
      yield `${lines[0]!.worker} logged lease ${leaseId}, which was never granted`
      continue
    }
    for (const line of lines) {
      const fault = faultOf(line, grant)
      if (fault !== undefined) yield `lease ${leaseId} of ${line.worker}: ${fault}`
    }
  }
}

function faultOf({ worker, what, state }: WorkerLine, grant: Grant): string | undefined {
  const how = grant.end?.how ?? 'open'
  if (worker !== grant.worker) return `it was granted to ${grant.worker}`
  if (what === 'committed' && how !== 'COMPLETED' && how !== 'FAILED') {
    return `the report was COMMITTED, but the lease is ${how} in the log`
  }
  if (what === 'committed' && (state === 'COMPLETED') !== (how === 'COMPLETED')) {
    return `the report left the task ${state}, but the lease is ${how} in the log`
  }
  if (what === 'cancelled' && grant.cancelled === 0) {
    return 'the report was CANCELLED, but the log has no record of that'
  }
  // No worker here sends an invalid report.
  if (what === 'rejected') return 'the report was REJECTED'
  return undefined
}

/** 004 §3.3, 004 §4: a lease has one final answer, and no report after it. */
export function* findReportsAfterFinalAnswer({ workerLines }: Case): Generator<string> {
  for (const [leaseId, lines] of workerLines) {
    const last = lines.findIndex(({ what }) => finalWords.includes(what))
    const after = last === -1 ? [] : lines.slice(last + 1)
    for (const { worker, what } of after) {
      yield `lease ${leaseId} of ${worker}: "${what}" after "${lines[last]!.what}"`
    }
  }
}

const finalWords: readonly string[] = ['committed', 'cancelled', 'rejected', 'not reported']

/** 002 §5.4: the result is what the handler returned under this lease, and under no other. */
export function* findWrongResults({ history, returned }: Case): Generator<string> {
  for (const [leaseId, { end, taskId }] of history.leases) {
    if (end?.how !== 'COMPLETED') continue
    const results = (returned.get(leaseId) ?? []).map(({ result }) => result)
    if (results.length === 1 && results[0] === end.result) continue
    const gave = results.length === 0 ? 'nothing' : results.map((it) => `"${it}"`).join(', ')
    yield `task ${taskId}: its result is "${end.result}", but its handler returned ${gave} under lease ${leaseId}`
  }
}
