import { median } from '@tenure/harness'
import { countTasks } from '../src/index.js'
import { recordLives } from './lives.js'
import type { Pace } from './pace.js'
import { Recording } from './recording.js'
import { atLeast, type Result, round, roundedMedian, spreadOf } from './result.js'
import { decodeAll, Subject } from './subject.js'

const variants = [
  { variant: 'half with request_id', idShare: 0.5 },
  { variant: 'no request_id', idShare: 0 },
  { variant: 'all with request_id', idShare: 1 },
] as const

/** Records per second, decoded and applied to a state whose number of tasks stays the same. */
export function measureApply(pace: Pace): Result[] {
  const all = variants.map(({ variant, idShare }) => {
    const recording = new Recording()
    const start = recordLives(recording, pace.applyRecords, idShare)
    return { variant, idShare, recording, start, bothMs: [] as number[], decodeMs: [] as number[] }
  })
  for (let done = 0; done <= pace.rounds; done++) {
    for (const { recording, start, bothMs, decodeMs } of all) {
      const subject = new Subject()
      subject.play(recording.views(0, start))
      gc!()
      const both = subject.replay(recording, start)
      gc!()
      const decode = decodeAll(recording, start)
      // The first round warms up the compiler.
      if (done === 0) continue
      bothMs.push(both)
      decodeMs.push(decode)
    }
  }
  return all.map(({ variant, idShare, recording, start, bothMs, decodeMs }): Result => {
    const records = recording.length - start
    const rates = bothMs.map((ms) => rateOf(records, ms))
    const recordsPerSecond = roundedMedian(rates)
    const end = new Subject()
    end.replay(recording)
    const { waiting, leased, ended } = countTasks(end.state)
    return {
      case: 'apply',
      variant,
      recordsPerSecond,
      spread: spreadOf(rates),
      rounds: rates.length,
      ...(idShare === 0.5 ? atLeast(1_000_000, recordsPerSecond) : undefined),
      details: {
        decodedPerSecond: roundedMedian(decodeMs.map((ms) => rateOf(records, ms))),
        applyShare: round(1 - median(decodeMs) / median(bothMs)),
        records,
        bytesPerRecord: round(recording.bytesPerRecord),
        requestIdShare: idShare,
        liveTasks: waiting + leased,
        endedTasks: ended,
      },
    }
  })
}

function rateOf(records: number, ms: number): number {
  return (records / ms) * 1000
}
