import {
  apply,
  createState,
  decodeRecord,
  encodeRecord,
  type LogRecord,
  type State,
} from '../src/index.js'
import type { Recording } from './recording.js'
import type { Stream } from './streams.js'

const recordsAtOnce = 1000

export interface Cost {
  readonly decodeMs: number
  readonly applyMs: number
}

/** A state with the position that the next record continues. */
export class Subject {
  readonly state: State = createState()
  #lsn = 0

  /** Applies the records that the stream begins with; none of them stays behind. */
  fill(stream: Stream): void {
    stream.maker.sink = (record) => this.apply(record)
    stream.fill()
  }

  apply(record: LogRecord): void {
    apply(this.state, ++this.#lsn, decodeRecord(encodeRecord(record)))
  }

  /** Decodes and applies one after the other. */
  play(views: readonly Uint8Array[]): void {
    for (const view of views) apply(this.state, ++this.#lsn, decodeRecord(view))
  }

  /** Milliseconds for the recording from there on, without those for making the views. */
  replay(recording: Recording, start = 0): number {
    let totalMs = 0
    for (let from = start; from < recording.length; from += recordsAtOnce) {
      const views = recording.views(from, recordsAtOnce)
      const startedMs = performance.now()
      this.play(views)
      totalMs += performance.now() - startedMs
    }
    return totalMs
  }

  /** The same in two steps, a thousand records each, so that each has its own time. */
  replayInSteps(recording: Recording): Cost {
    let decodeMs = 0
    let applyMs = 0
    for (let from = 0; from < recording.length; from += recordsAtOnce) {
      const views = recording.views(from, recordsAtOnce)
      const startedMs = performance.now()
      const records = views.map(decodeRecord)
      const decodedMs = performance.now()
      for (const record of records) apply(this.state, ++this.#lsn, record)
      applyMs += performance.now() - decodedMs
      decodeMs += decodedMs - startedMs
    }
    return { decodeMs, applyMs }
  }
}

/** What it costs to decode the recording and throw the records away. */
export function decodeAll(recording: Recording, start = 0): number {
  let totalMs = 0
  let newestAt = 0
  for (let from = start; from < recording.length; from += recordsAtOnce) {
    const views = recording.views(from, recordsAtOnce)
    const startedMs = performance.now()
    for (const view of views) newestAt = decodeRecord(view).at
    totalMs += performance.now() - startedMs
  }
  // Used, so that no optimizer can leave the work out.
  if (newestAt === 0) throw new Error('there was nothing to decode')
  return totalMs
}
