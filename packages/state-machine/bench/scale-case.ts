import { median } from '@tenure/harness'
import type { Pace } from './pace.js'
import { Recording } from './recording.js'
import { atMost, type Result, round, spreadOf } from './result.js'
import { LeasedStream, type Stream, WaitingStream } from './streams.js'
import { type Cost, Subject } from './subject.js'

const fewTasks = 1000
const manyTasks = 1_000_000

/** Cost of an operation among many tasks, compared with few tasks. */
export function measureScale(pace: Pace): Result[] {
  return [
    compare(pace, 'oldest first', true, (live) => new WaitingStream(live, 0.5)),
    // An operation on a random one of a million tasks finds it in memory, not in a CPU cache.
    compare(pace, 'random order, leased', false, (live) => new LeasedStream(live, 0.5)),
  ]
}

function compare(
  pace: Pace,
  variant: string,
  hasTarget: boolean,
  makeStream: (liveTasks: number) => Stream,
): Result {
  const few = new Side(makeStream(fewTasks))
  const many = new Side(makeStream(manyTasks))
  for (let done = 0; done <= pace.scaleRounds; done++) {
    for (const side of [few, many]) side.record(pace.scaleRecords)
    gc!()
    // Alternate which side runs second.
    for (const side of done % 2 === 0 ? [few, many] : [many, few]) side.play(done > 0)
  }
  const costRatio = round(many.applyNs / few.applyNs)
  const ratios = many.costs.map(({ applyMs }, index) => applyMs / few.costs[index]!.applyMs)
  return {
    case: 'scale',
    variant,
    costRatio,
    spread: spreadOf(ratios),
    rounds: ratios.length,
    ...(hasTarget ? atMost(1.2, costRatio) : undefined),
    details: {
      liveTasks: [fewTasks, manyTasks],
      applyNs: [round(few.applyNs), round(many.applyNs)],
      applyNsSpread: [...few.applyNsSpread, ...many.applyNsSpread],
      decodeNs: [round(few.decodeNs), round(many.decodeNs)],
      costRatioWithDecode: round((many.applyNs + many.decodeNs) / (few.applyNs + few.decodeNs)),
      recordsPerRound: pace.scaleRecords,
      requestIdShare: 0.5,
    },
  }
}

/** One of the two sides, with its cost in each round. */
class Side {
  readonly costs: Cost[] = []
  readonly #stream: Stream
  readonly #subject = new Subject()
  readonly #recording = new Recording()

  constructor(stream: Stream) {
    this.#stream = stream
    this.#subject.fill(stream)
    stream.maker.sink = (record) => this.#recording.add(record)
  }

  record(records: number): void {
    this.#recording.clear()
    while (this.#recording.length < records) this.#stream.step()
  }

  play(counts: boolean): void {
    const { decodeMs, applyMs } = this.#subject.replayInSteps(this.#recording)
    const toNs = 1e6 / this.#recording.length
    if (counts) this.costs.push({ decodeMs: decodeMs * toNs, applyMs: applyMs * toNs })
  }

  get applyNs(): number {
    return median(this.costs.map(({ applyMs }) => applyMs))
  }

  get decodeNs(): number {
    return median(this.costs.map(({ decodeMs }) => decodeMs))
  }

  get applyNsSpread(): readonly [number, number] {
    return spreadOf(this.costs.map(({ applyMs }) => applyMs))
  }
}
