import { flagOf, type Host, printable } from '@tenure/app-kit'
import { TenureError } from '@tenure/client'
import { codeOf, explain } from '../../coordinator/refusals.js'
import { countOf, showCount, showRate, showSpan } from '../../terminal/figures.js'
import { toJsonLine } from '../../terminal/json.js'
import { ProgressLine, showProgress } from '../../terminal/progress.js'

import type { Line } from './lines-input.js'

/** What is told while lines are submitted. */
export interface Listener {
  submitted(line: Line, task: { readonly taskId: number; readonly known: boolean }): void
  /** This line is refused; the others are not. */
  refused(line: Line, error: TenureError): void
}

/** What ended it before its time. */
export interface BrokenOff {
  /** The first line of which it is not known that it was submitted. */
  readonly fromLine: number
  readonly error: unknown
}

interface LinesCount {
  readonly submitted: number
  /** Of these, those that had been submitted before under the same request id. */
  readonly known: number
  readonly refused: number
  /** Where there is one. */
  readonly firstRefusedLine?: number | undefined
  readonly elapsedMs: number
}

/** `1,000 tasks submitted, 3 of them before, 1 line refused, in 0.4 s (2,500/s)`. */
export function showCounted({ submitted, known, refused, elapsedMs }: LinesCount): string {
  const parts = [
    `${countOf(submitted, 'task')} submitted`,
    ...(known > 0 ? [`${showCount(known)} of them before`] : []),
    ...(refused > 0 ? [`${countOf(refused, 'line')} refused`] : []),
    `in ${showSpan(elapsedMs)} (${showRate(submitted, elapsedMs)})`,
  ]
  return parts.join(', ')
}

interface Continuation extends Pick<LinesCount, 'refused' | 'firstRefusedLine'> {
  readonly requestIdPrefix: string
  readonly brokenOff: BrokenOff | undefined
}

/** What to do about lines that were not submitted, or of which that is not known. */
export function tellHowToGoOn(continuation: Continuation): string[] {
  const { requestIdPrefix, brokenOff, refused } = continuation
  const prefix = `${flagOf('requestIdPrefix')} ${requestIdPrefix}`
  const them = refused === 1 ? 'it' : 'them'
  if (brokenOff !== undefined) {
    const { fromLine, error } = brokenOff
    // What was refused lies before it, and would be passed over for good.
    const { firstRefusedLine = fromLine } = continuation
    const goOn = `with the same call and ${flagOf('fromLine')} ${firstRefusedLine} ${prefix}: ${notTwice}`
    const unknown = `whether lines from ${fromLine} on were submitted is not known`
    return [
      `line ${fromLine}: ${tellWhy(error)}`,
      refused === 0
        ? `${unknown}. Go on ${goOn}`
        : `${unknown}, and ${tellRefused(refused, firstRefusedLine)}. Mend ${them} and go on ${goOn}`,
    ]
  }
  if (refused === 0) return []
  return [`mend ${them} and do the same again with ${prefix}: ${notTwice}`]
}

const notTwice = 'none will be submitted twice'

function tellRefused(refused: number, firstLine: number): string {
  if (refused === 1) return `line ${firstLine} was refused`
  return `${showCount(refused)} lines before that were refused, the first of them line ${firstLine}`
}

function tellWhy(error: unknown): string {
  if (!(error instanceof TenureError))
    return printable(error instanceof Error ? error.message : String(error))
  // The way to go on is told for all lines together.
  const { code, message } = error
  return code === 'CLIENT_ABORTED'
    ? 'stopped'
    : error.requestId
      ? printable(message)
      : explain(error)
}

/** So many refusals are told one by one; thousands of them say the same. */
const refusalsToldMax = 10

/** Counts what becomes of lines, and tells it while it goes on. */
export class LinesTeller implements Listener {
  readonly #host: Host
  readonly #json: boolean
  readonly #totalBytes: number | undefined
  readonly #progress: ProgressLine
  #submitted = 0
  #known = 0
  #refused = 0
  #firstRefusedLine: number | undefined
  /** Where the first line begins that is dealt with: what comes before it was passed over in no time. */
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
    if (this.#refused === refusalsToldMax) this.#say('further refusals are only counted')
    this.#update(line)
  }

  /** Says what there is to be said, and gives the counts. */
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

/** A file may have grown since it was measured. */
function shareOf(done: number, total: number): number {
  return total > 0 ? Math.min(1, done / total) : 1
}
