import { RejectedError, type TaskOptions, type Tenure, type TenureError } from '@tenure/client'
import type { Reason } from '@tenure/protocol'
import type { BrokenOff, Listener } from '../verbs/submit/lines-report.js'
import type { Line } from './line-reader.js'

export interface ManyOptions extends TaskOptions {
  readonly requestIdPrefix: string
  readonly fromLine: number
  readonly signal: AbortSignal
}

/**
 * Lines as tasks, as many on their way at once as the coordinator takes. What would meet every
 * further line, too, breaks it off; what is wrong with one line does not.
 */
export async function submitMany(
  tenure: Tenure,
  lines: AsyncIterable<Line>,
  { requestIdPrefix, fromLine, signal, ...task }: ManyOptions,
  listener: Listener,
): Promise<BrokenOff | undefined> {
  const onTheirWay: Line[] = []
  let next = fromLine
  async function* submissions() {
    for await (const line of lines) {
      if (line.number < fromLine || line.bytes.length === 0) continue
      onTheirWay.push(line)
      yield { ...task, payload: line.bytes, requestId: `${requestIdPrefix}-${line.number}` }
    }
  }
  try {
    for await (const outcome of tenure.submitMany(submissions(), { signal })) {
      const line = onTheirWay.shift()!
      if (outcome.ok) listener.submitted(line, outcome)
      else if (isOfOneLine(outcome.error)) listener.refused(line, outcome.error)
      else return { fromLine: line.number, error: outcome.error }
      next = line.number + 1
    }
    return undefined
  } catch (error) {
    return { fromLine: next, error }
  }
}

const ofOneLine: readonly Reason[] = ['CONFLICT', 'TOO_LARGE', 'MALFORMED']

function isOfOneLine(error: TenureError): boolean {
  if (error instanceof RejectedError) return ofOneLine.includes(error.reason)
  return error.code === 'CLIENT_BAD_ARGUMENT'
}
