import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import {
  type CheckpointKnobs,
  defaultCheckpointKnobs,
} from '../src/checkpoints/checkpoint-knobs.js'
import { Checkpointer } from '../src/checkpoints/checkpointer.js'
import { logBytesBound, replayMs } from '../src/checkpoints/replay-estimate.js'
import { GrowingLog, SlowMaker } from './growing-log.js'

const mib = 2 ** 20

interface Load {
  readonly knobs: Partial<CheckpointKnobs>
  readonly segmentBytes: number
  readonly recordsPerSecond: number
  readonly recordBytes: number
  /** What a checkpoint takes: so much, and so much for each million records that there ever were. */
  readonly workMs: number
  readonly workMsPerMillion: number
}

const loads: Readonly<Record<string, Load>> = {
  'large records and little to replay': {
    knobs: { replayMsMax: 500, historyBytesMax: 400 * mib },
    segmentBytes: 4 * mib,
    ...{ recordsPerSecond: 1500, recordBytes: 20_000 },
    ...{ workMs: 300, workMsPerMillion: 0 },
  },
  'small records on a machine that has no time': {
    knobs: { replayMsMax: 1000, historyBytesMax: 0 },
    segmentBytes: 64 * mib,
    ...{ recordsPerSecond: 30_000, recordBytes: 120 },
    ...{ workMs: 3000, workMsPerMillion: 0 },
  },
  'tasks that pile up, by default': {
    knobs: {},
    segmentBytes: 64 * mib,
    ...{ recordsPerSecond: 20_000, recordBytes: 200 },
    ...{ workMs: 200, workMsPerMillion: 3000 },
  },
  'large payloads, by default': {
    knobs: {},
    segmentBytes: 64 * mib,
    ...{ recordsPerSecond: 1000, recordBytes: 64 * 1024 },
    ...{ workMs: 1000, workMsPerMillion: 0 },
  },
  'no history': {
    knobs: { replayMsMax: 200, historyBytesMax: 0, historyMs: 0 },
    segmentBytes: mib,
    ...{ recordsPerSecond: 2000, recordBytes: 1000 },
    ...{ workMs: 100, workMsPerMillion: 10 },
  },
}

for (const [name, load] of Object.entries(loads)) {
  t.test(
    `what a restart replays, and what the log takes, have their bounds: ${name}`,
    async (t) => {
      const knobs = { ...defaultCheckpointKnobs, ...load.knobs }
      const { made, mostMs, mostBytes } = await run(load, knobs)
      t.ok(made > 2, `${made} checkpoints`)
      t.ok(mostMs <= knobs.replayMsMax, `${Math.round(mostMs)} ms`)
      t.ok(mostBytes <= logBytesBound(knobs, load.segmentBytes), `${mostBytes / mib} MiB`)
    },
  )
}

async function run(load: Load, knobs: CheckpointKnobs) {
  const clock = new SimulatedClock()
  const log = new GrowingLog(load.segmentBytes, clock)
  const { workMs, workMsPerMillion } = load
  const maker = new SlowMaker(log, (lsn) => workMs + (workMsPerMillion * lsn) / 1e6)
  let made = 0
  const observer = { checkpointed: () => made++ }
  const checkpointer = new Checkpointer({
    log,
    clock,
    knobs,
    maker,
    observer,
    isDiskFull: () => false,
  })
  log.onRolled = () => checkpointer.tend()
  let mostMs = 0
  let mostBytes = 0
  for (let tenths = 1; tenths <= 3000; tenths++) {
    log.append(load.recordsPerSecond / 10, load.recordBytes)
    maker.pass(100)
    await clock.advance(100)
    if (tenths % 10 === 0) checkpointer.tend()
    mostMs = Math.max(mostMs, replayMs(log))
    mostBytes = Math.max(mostBytes, log.bytes)
  }
  return { made, mostMs, mostBytes }
}
