import { type Complete, type Fail, messageLimits } from '@tenure/protocol'
import type { Random } from '@tenure/seams'
import type { Outcome, TaskFacts } from '../handler.js'

/** A report as it is handed to the link. */
export type Report = Omit<Complete, 'id'> | Omit<Fail, 'id'>

/**
 * What to tell the coordinator of a handler that has ended. `timeout` says that it was told to end
 * because its execution window was over.
 */
export function toReport(
  { taskId, leaseId }: TaskFacts,
  reportId: string,
  outcome: Outcome,
  resultBytesMax: number,
  timeout: string | undefined,
): Report {
  const ids = { taskId, leaseId, reportId }
  const fail = (...parts: (string | undefined)[]): Report => {
    const reason = parts.filter((part) => part !== undefined).join('; ')
    return { kind: 'fail', ...ids, reason: cut(reason, messageLimits.reasonBytesMax) }
  }
  if (outcome.kind === 'terminated') return fail(timeout ?? 'terminated')
  if (outcome.kind !== 'returned') return fail(timeout, outcome.reason)
  const { result } = outcome
  // The coordinator would refuse it for ever, and the task run for ever.
  if (result !== undefined && result.length > resultBytesMax) {
    return fail(`the result has ${result.length} bytes; at most ${resultBytesMax} are taken`)
  }
  return { kind: 'complete', ...ids, result }
}

/** The text, or as much of its beginning as fits, in whole characters. */
function cut(text: string, bytesMax: number): string {
  // Half a character becomes a whole one on the way: it could not be sent.
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return bytes.toString()
  let end = bytesMax - 3
  // In the middle of a character: bytes that follow a first one begin with the bits 10.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return `${bytes.toString('utf8', 0, end)}…`
}

const prefixCharacters = 8

/**
 * Names for reports. They are compared among the reports under one lease only, so a short one does, and
 * the log is the smaller for it.
 */
export class ReportIds {
  readonly #prefix: string
  #count = 0

  constructor(random: Random) {
    this.#prefix = random.id().slice(0, prefixCharacters)
  }

  next(): string {
    this.#count++
    return `${this.#prefix}-${this.#count}`
  }
}
