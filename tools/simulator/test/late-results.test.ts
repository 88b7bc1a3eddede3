import t from 'tap'
import { run } from '../src/play/run.js'
import type { HandlerPlan, PlannedTrouble, Scenario } from '../src/scenario/scenario.js'

// The log's record of a task that two workers executed one after the other, and the counters about
// it.

const leaseDurationMs = 1000
/** By then the task is granted, and the first worker will notice that its lease has ended. */
const strikeAtMs = 500
const standstillMs = 4000
/** The first worker to get the task: under this seed its poll arrives first. */
const first = 1

/**
 * Two workers with one slot each; one has the task when the trouble strikes, the other gets it
 * later.
 */
function twoWorkers(trouble: PlannedTrouble, attempts: readonly HandlerPlan[]): Scenario {
  const worker = { concurrency: 1, queues: ['default'], clockRate: 1, pollWaitMs: 5000 }
  return {
    seed: 1,
    workers: [worker, { ...worker }],
    clients: 1,
    healAtMs: 8000,
    faults: [trouble],
    knobs: {
      leaseDurationMs,
      heartbeatIntervalMs: 250,
      poisonThreshold: 20,
      retentionMs: 3_600_000,
      retentionTasks: 1000,
      waitingTasksMax: 1000,
      diskMsMax: 0,
      networkMsMax: 2,
      pieceBytesMax: 100_000,
      clockRate: 1,
      copiesPerThousand: 0,
    },
    operations: [
      {
        atMs: 100,
        client: 0,
        kind: 'submit',
        number: 0,
        task: {
          queue: 'default',
          payloadBytes: 0,
          hasRequestId: true,
          delayMs: 0,
          attempts,
          executionWindowMs: 60_000,
          retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } },
        },
      },
    ],
  }
}

async function play(scenario: Scenario) {
  const lines: string[] = []
  const { counters, violation } = await run(scenario, (line) => lines.push(line))
  const cancelled = lines.filter((line) => line.includes('TaskCancelled')).length
  return { counters, violation, cancelled, lines }
}

t.test('two executions that both end are one confirmed duplicate', async (t) => {
  const stands = {
    atMs: strikeAtMs,
    kind: 'pause worker',
    worker: first,
    forMs: standstillMs,
  } as const
  const both = twoWorkers(stands, [
    { afterMs: 2000, ends: 'returns' },
    { afterMs: 1000, ends: 'returns' },
  ])
  const { counters, violation, cancelled } = await play(both)
  t.equal(violation, undefined)
  t.equal(cancelled, 1, 'the first worker reported, too')
  t.match(counters, { leasesGranted: 2, leasesExpired: 1, tasksCompleted: 1 })
  t.match(counters, { possibleDuplicates: 1, confirmedDuplicates: 1 })
})

t.test(
  'an execution that its worker aborted is a possible duplicate, not a confirmed one',
  async (t) => {
    const stands = {
      atMs: strikeAtMs,
      kind: 'pause worker',
      worker: first,
      forMs: standstillMs,
    } as const
    const { counters, violation, cancelled } = await play(
      twoWorkers(stands, [
        { afterMs: 0, ends: 'hangs' },
        { afterMs: 1000, ends: 'returns' },
      ]),
    )
    t.equal(violation, undefined)
    t.equal(cancelled, 0)
    t.match(counters, { leasesExpired: 1, possibleDuplicates: 1, confirmedDuplicates: 0 })
  },
)

t.test(
  'an execution whose worker was killed is a possible duplicate, not a confirmed one',
  async (t) => {
    const killed = { atMs: strikeAtMs, kind: 'kill worker', worker: first, downMs: 100 } as const
    const { counters, violation, cancelled } = await play(
      twoWorkers(killed, [
        { afterMs: 2000, ends: 'returns' },
        { afterMs: 1000, ends: 'returns' },
      ]),
    )
    t.equal(violation, undefined)
    t.equal(cancelled, 0)
    t.match(counters, { leasesExpired: 1, possibleDuplicates: 1, confirmedDuplicates: 0 })
  },
)
