import type { Host } from '@tenure/app-kit'
import type { TenureError } from '@tenure/client'
import { codeOf, explain } from '../coordinator/refusals.js'
import { toJsonLine } from '../terminal/json.js'
import { ProgressLine, showProgress } from '../terminal/progress.js'
import { type LinesCount, type Listener, showCounted } from '../verbs/submit/lines-report.js'
import type { Line } from './line-reader.js'

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
