import { type Complete, type Fail, messageLimits } from '@tenure/protocol'
import type { Random } from '@tenure/seams'
import type { Outcome, TaskFacts } from '../handler.js'

/** A report without its request id. */
export type Report = Omit<Complete, 'id'> | Omit<Fail, 'id'>

/** The report for an ended handler. `timeout` is the reason to report if its execution window was over. */
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
  // The coordinator would always reject the result, and the task would run forever.
  if (result !== undefined && result.length > resultBytesMax) {
    return fail(`the result has ${result.length} bytes; at most ${resultBytesMax} are accepted`)
  }
  return { kind: 'complete', ...ids, result }
}

/** The longest beginning of the text that fits, in whole characters. */
function cut(text: string, bytesMax: number): string {
  // Encoding replaces lone surrogates, which could not be sent.
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return bytes.toString()
  let end = bytesMax - 3
  // UTF-8 continuation bytes begin with the bits 10.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return `${bytes.toString('utf8', 0, end)}…`
}

const prefixCharacters = 8

/**
 * Generates report ids. They only need to be unique within one lease, so short ids suffice and keep the log
 * small.
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
