import t from 'tap'
import { run } from '../src/play/run.js'
import { drawScenario } from '../src/scenario/draw.js'
import type { Operation, Scenario, Trouble } from '../src/scenario/scenario.js'

const { knobs, workers } = drawScenario(1)

const lease = { leaseDurationMs: 300, heartbeatIntervalMs: 100 }

const task = {
  queue: 'default',
  payloadBytes: 0,
  hasRequestId: true,
  delayMs: 0,
  executionWindowMs: 3000,
  retryPolicy: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 50 } },
} as const

const operations: readonly Operation[] = [
  ...([0, 1, 2] as const).map(
    (number): Operation => ({
      atMs: 20 * number,
      kind: 'submit',
      client: 0,
      number,
      task: { ...task, attempts: [{ afterMs: 30, ends: number === 1 ? 'throws' : 'returns' }] },
    }),
  ),
  { atMs: 60, kind: 'checkpoint', client: 0 },
  { atMs: 150, kind: 'checkpoint', client: 0 },
]

/** Three tasks and two checkpoints on a fast or slow disk, with only these faults. */
function scenarioWith(diskMsMax: number, faults: readonly Trouble[]): Scenario {
  const calm = {
    diskMsMax,
    networkMsMax: 1,
    pieceBytesMax: 1000,
    clockRate: 1,
    copiesPerThousand: 0,
  }
  const kept = { poisonThreshold: 0, retentionMs: 3_600_000, retentionTasks: 1000 }
  return {
    seed: 1,
    workers: workers.slice(0, 1),
    clients: 1,
    operations,
    healAtMs: 1500,
    knobs: { ...knobs, ...calm, ...kept, waitingTasksMax: 1000, ...lease },
    faults: faults.map((fault) => ({ atMs: 0, ...fault })),
  }
}

for (const [when, keep, diskMsMax] of [
  ['before', 'random', 0],
  ['after', 'none', 5],
] as const) {
  const disk = diskMsMax === 0 ? 'a quick' : 'a slow'
  t.test(
    `power is lost ${when} every call to ${disk} disk, keeping ${keep} of the pending data`,
    async (t) => {
      const { diskCalls, ending } = await run(scenarioWith(diskMsMax, []))
      t.equal(ending, 'drained')
      let ends = 0
      for (let calls = 0; calls < diskCalls; calls++) {
        const end = { kind: 'end at call', how: 'crash', when, calls, keep, downMs: 50 } as const
        const { violation, faults } = await run(scenarioWith(diskMsMax, [end]))
        if (violation !== undefined) t.fail(`at call ${calls}: ${violation.message}`)
        ends += faults.get('end at call') ?? 0
      }
      t.ok(ends > diskCalls * 0.9, `${ends} of ${diskCalls} calls`)
    },
  )
}
