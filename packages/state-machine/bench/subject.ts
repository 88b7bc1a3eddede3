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

/** A state with the position of the next record. */
export class Subject {
  readonly state: State = createState()
  #lsn = 0

  /** Applies the initial records of the stream without keeping them. */
  fill(stream: Stream): void {
    stream.maker.sink = (record) => this.apply(record)
    stream.fill()
  }

  apply(record: LogRecord): void {
    apply(this.state, ++this.#lsn, decodeRecord(encodeRecord(record)))
  }

  /** Decodes and applies the records one by one. */
  play(views: readonly Uint8Array[]): void {
    for (const view of views) apply(this.state, ++this.#lsn, decodeRecord(view))
  }

  /** Milliseconds to replay the recording from `start`, without the time for making the views. */
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

  /** Measures decoding and applying separately, in steps of a thousand records. */
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

/** Milliseconds to decode the recording without using the records. */
export function decodeAll(recording: Recording, start = 0): number {
  let totalMs = 0
  let newestAt = 0
  for (let from = start; from < recording.length; from += recordsAtOnce) {
    const views = recording.views(from, recordsAtOnce)
    const startedMs = performance.now()
    for (const view of views) newestAt = decodeRecord(view).at
    totalMs += performance.now() - startedMs
  }
  // Uses the result, so that the optimizer cannot remove the work.
  if (newestAt === 0) throw new Error('the recording is empty')
  return totalMs
}
