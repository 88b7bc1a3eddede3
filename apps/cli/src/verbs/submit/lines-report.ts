import { flagOf, type Host, printable } from '@tenure/app-kit'
import { TenureError } from '@tenure/client'
import { codeOf, explain } from '../../coordinator/errors.js'
import { countOf, showCount, showDuration, showRate } from '../../terminal/format.js'
import { toJsonLine } from '../../terminal/json.js'
import { ProgressLine, showProgress } from '../../terminal/progress.js'

import type { Line } from './lines-input.js'

/** Receives the outcome of each line. */
export interface Listener {
  submitted(line: Line, task: { readonly taskId: number; readonly known: boolean }): void
  /** This line is rejected; the others continue. */
  refused(line: Line, error: TenureError): void
}

/** The error that ended the run early. */
export interface Interruption {
  /** The first line that may not have been submitted. */
  readonly fromLine: number
  readonly error: unknown
}

interface LinesCount {
  readonly submitted: number
  /** Submitted before under the same request id; included in `submitted`. */
  readonly known: number
  readonly refused: number
  readonly firstRefusedLine?: number | undefined
  readonly elapsedMs: number
}

/** `1,000 tasks submitted, 3 of them already known, 1 line rejected, in 0.4 s (2,500/s)`. */
export function showCounted({ submitted, known, refused, elapsedMs }: LinesCount): string {
  const parts = [
    `${countOf(submitted, 'task')} submitted`,
    ...(known > 0 ? [`${showCount(known)} of them already known`] : []),
    ...(refused > 0 ? [`${countOf(refused, 'line')} rejected`] : []),
    `in ${showDuration(elapsedMs)} (${showRate(submitted, elapsedMs)})`,
  ]
  return parts.join(', ')
}

interface Continuation extends Pick<LinesCount, 'refused' | 'firstRefusedLine'> {
  readonly requestIdPrefix: string
  readonly interruption: Interruption | undefined
}

/** How to submit the lines that were rejected or may not have been submitted. */
export function describeContinuation(continuation: Continuation): string[] {
  const { requestIdPrefix, interruption, refused } = continuation
  const prefix = `${flagOf('requestIdPrefix')} ${requestIdPrefix}`
  const them = refused === 1 ? 'it' : 'them'
  if (interruption !== undefined) {
    const { fromLine, error } = interruption
    // Rejected lines come before that line, and would otherwise be skipped.
    const { firstRefusedLine = fromLine } = continuation
    const goOn = `the same command with ${flagOf('fromLine')} ${firstRefusedLine} ${prefix}; ${notTwice}`
    const unknown = `line ${fromLine} and later lines may not have been submitted`
    return [
      `line ${fromLine}: ${describeWhy(error)}`,
      refused === 0
        ? `${unknown}. Run ${goOn}`
        : `${unknown}, and ${describeRefused(refused, firstRefusedLine)}. Fix ${them} and run ${goOn}`,
    ]
  }
  if (refused === 0) return []
  return [`fix ${them} and run the same command with ${prefix}; ${notTwice}`]
}

const notTwice = 'no task is submitted twice'

function describeRefused(refused: number, firstLine: number): string {
  if (refused === 1) return `line ${firstLine} was rejected`
  return `${showCount(refused)} earlier lines were rejected, the first of them line ${firstLine}`
}

function describeWhy(error: unknown): string {
  if (!(error instanceof TenureError))
    return printable(error instanceof Error ? error.message : String(error))
  // The message about continuing covers the request id.
  const { code, message } = error
  return code === 'CLIENT_ABORTED'
    ? 'stopped'
    : error.requestId
      ? printable(message)
      : explain(error)
}

/** Maximum number of rejections to print; later ones are only counted. */
const refusalsToldMax = 10

/** Counts and prints the outcomes of lines. */
export class LinesReporter implements Listener {
  readonly #host: Host
  readonly #json: boolean
  readonly #totalBytes: number | undefined
  readonly #progress: ProgressLine
  #submitted = 0
  #known = 0
  #refused = 0
  #firstRefusedLine: number | undefined
  /** The offset of the first submitted line; lines before it were skipped. */
  #begin: number | undefined

  constructor(host: Host, json: boolean, totalBytes: number | undefined, now?: () => number) {
    this.#host = host
    this.#json = json
    this.#totalBytes = totalBytes
    this.#progress = new ProgressLine(host, now)
  }

  submitted(line: Line, { taskId, known }: { taskId: number; known: boolean }): void {
    this.#submitted++
    if (known) this.#known++
    if (this.#json) this.#host.stdout.write(toJsonLine({ line: line.number, taskId, known }))
    this.#update(line)
  }

  refused(line: Line, error: TenureError): void {
    this.#refused++
    this.#firstRefusedLine ??= line.number
    const why = { code: codeOf(error), message: explain(error) }
    if (this.#json) this.#host.stdout.write(toJsonLine({ line: line.number, error: why }))
    if (this.#refused <= refusalsToldMax) this.#say(`line ${line.number}: ${why.message}`)
    if (this.#refused === refusalsToldMax) this.#say('further rejected lines are only counted')
    this.#update(line)
  }

  /** Prints and returns the counts. */
  end(): LinesCount {
    this.#progress.clear()
    const { elapsedMs } = this.#progress
    const counts = { submitted: this.#submitted, known: this.#known, refused: this.#refused }
    const count = { ...counts, firstRefusedLine: this.#firstRefusedLine, elapsedMs }
    if (!this.#json) this.#host.stdout.write(`${showCounted(count)}\n`)
    return count
  }

  #update({ end, bytes }: Line): void {
    this.#begin ??= end - bytes.length
    const begin = this.#begin
    const total = this.#totalBytes
    this.#progress.update((elapsedMs) => {
      const count = this.#submitted + this.#refused
      const share = total === undefined ? undefined : shareOf(end - begin, total - begin)
      return showProgress({ count, elapsedMs, share }, 'line')
    })
  }

  #say(message: string): void {
    this.#progress.clear()
    this.#host.stderr.write(`tenure: ${message}\n`)
  }
}

/** At most 1: the file may have grown. */
function shareOf(done: number, total: number): number {
  return total > 0 ? Math.min(1, done / total) : 1
}
