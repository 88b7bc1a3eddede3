import { Random } from '@tenure/testing'
import type {
  Damage,
  DiskCalls,
  EngineTrouble,
  HandlerPlan,
  LogChoice,
  Operation,
  PlannedTrouble,
  RogueStep,
  Scenario,
  ScenarioKnobs,
  TaskPlan,
  Trouble,
  TroubleKind,
  WorkerPlan,
} from './scenario.js'
import { hasSharedLog, onSharedLog } from './shared-log-scenario.js'

/**
 * The scenario of a seed. It has some kinds of trouble, not all of them, so that each kind occurs
 * in every combination.
 */
export function drawScenario(seed: number, log: LogChoice = 'any'): Scenario {
  const random = new Random(seed)
  const healAtMs = random.pick([1500, 3000, 6000])
  const workers = Array.from({ length: 1 + random.integer(3) }, (_, index) =>
    drawWorker(random, index),
  )
  const clients = 1 + random.integer(2)
  const tasks = 3 + random.integer(12)
  const operations = drawOperations(random, { clients, tasks, workers: workers.length, healAtMs })
  const faults = drawFaults(random, { workers: workers.length, healAtMs })
  const knobs = drawKnobs(random)
  const checkpoints = random.chance(0.35) ? drawCheckpoints(random, { clients, healAtMs }) : []
  operations.push(...checkpoints)
  operations.sort((a, b) => a.atMs - b.atMs)
  const scenario = { seed, knobs, workers, clients, operations, faults, healAtMs }
  return hasSharedLog(seed, log) ? onSharedLog(scenario) : scenario
}

/** Enough for the files of removed segments to be used again. */
function drawCheckpoints(
  random: Random,
  { clients, healAtMs }: Pick<Cast, 'clients' | 'healAtMs'>,
): Operation[] {
  return Array.from({ length: 8 + random.integer(16) }, () => ({
    atMs: random.integer(Math.floor(healAtMs * 0.9)),
    kind: 'checkpoint',
    client: random.integer(clients),
  }))
}

function drawKnobs(random: Random): ScenarioKnobs {
  const leaseDurationMs = random.pick([300, 1000, 3000])
  // Small pieces on a slow network would let nothing through within a lease.
  const [networkMsMax, pieceBytesMax] = random.pick([
    ...([
      [0.2, 1],
      [2, 20],
      [0, 100_000],
    ] as const),
    ...([
      [2, 1000],
      [20, 100_000],
      [100, 100_000],
    ] as const),
  ])
  return {
    leaseDurationMs,
    heartbeatIntervalMs: Math.floor(leaseDurationMs / random.pick([2, 3, 4])),
    poisonThreshold: random.pick([0, 2, 20]),
    retentionMs: random.pick([3_600_000, 3_600_000, 2000, 0]),
    retentionTasks: random.pick([1000, 1000, 3]),
    waitingTasksMax: random.pick([1000, 1000, 5]),
    diskMsMax: random.pick([0, 0, 1, 8, 40]),
    networkMsMax,
    pieceBytesMax,
    clockRate: drawRate(random),
    copiesPerThousand: random.pick([0, 20, 60]),
  }
}

/** Differs by less than the margin of a worker. */
function drawRate(random: Random): number {
  return random.pick([1, 1, 0.996, 1.004])
}

/** The first worker serves every queue, so that each queue has at least one worker. */
function drawWorker(random: Random, index: number): WorkerPlan {
  const queues = [['default', 'other'], ['default'], ['other']]
  return {
    concurrency: 1 + random.integer(3),
    queues: index === 0 ? queues[0]! : random.pick(queues),
    clockRate: drawRate(random),
    pollWaitMs: random.pick([400, 2000, 5000]),
  }
}

interface Cast {
  readonly clients: number
  readonly tasks: number
  readonly workers: number
  readonly healAtMs: number
}

function drawOperations(random: Random, { clients, tasks, workers, healAtMs }: Cast): Operation[] {
  const operations: Operation[] = []
  const isLarge = random.chance(0.15)
  const at = () => ({ atMs: random.integer(Math.floor(healAtMs * 0.9)) })
  const client = () => ({ client: random.integer(clients) })
  for (let number = 0; number < tasks; number++) {
    const task = drawTask(random, isLarge)
    operations.push({ ...at(), ...client(), kind: 'submit', number, task })
  }
  const rogues = random.chance(0.5) ? 1 + random.integer(2) : 0
  const others = random.integer(15)
  for (let index = 0; index < others; index++) {
    operations.push({ ...at(), ...drawQuestion(random, client().client, tasks) })
  }
  for (let index = 0; index < rogues * 4; index++) {
    operations.push({ ...at(), ...drawRogue(random, index % rogues) })
  }
  if (random.chance(0.15)) operations.push({ ...at(), kind: 'garbage', bytes: random.integer(100) })
  if (random.chance(0.3)) {
    const worker = random.integer(workers)
    operations.push({ ...at(), kind: 'stop worker', worker, downMs: random.integer(2000) })
  }
  if (random.chance(0.5)) {
    operations.push({ ...at(), kind: 'stop coordinator', downMs: random.integer(2000) })
  }
  return operations.sort((a, b) => a.atMs - b.atMs)
}

function drawTask(random: Random, isLarge: boolean): TaskPlan {
  return {
    queue: random.chance(0.2) ? 'other' : 'default',
    payloadBytes: isLarge ? random.integer(7000) : 0,
    hasRequestId: random.chance(0.9),
    delayMs: random.chance(0.2) ? random.integer(2000) : 0,
    executionWindowMs: random.pick([400, 1500, 4000]),
    retryPolicy: {
      maxRetries: random.integer(3),
      backoff: random.chance(0.5)
        ? { kind: 'fixed', delayMs: random.pick([0, 100, 600]) }
        : { kind: 'exponential', initialMs: 50, maxMs: 1000 },
    },
    attempts: Array.from({ length: random.integer(4) }, () => drawHandler(random)),
  }
}

function drawHandler(random: Random): HandlerPlan {
  return {
    afterMs: random.pick([0, 1, 20, 200, 800, 2500]),
    ends: random.pick(['returns', 'returns', 'returns', 'throws', 'crashes', 'hangs', 'deaf']),
  }
}

function drawQuestion(random: Random, client: number, tasks: number) {
  const task = random.integer(tasks)
  const kind = random.pick([
    ...(['resubmit', 'resubmit', 'kill', 'kill', 'get', 'get', 'why', 'history'] as const),
    ...(['list', 'stats', 'checkpoint', 'checkpoint', 'checkpoint'] as const),
  ])
  if (kind === 'resubmit') return { kind, client, task, isOther: random.chance(0.3) }
  if (kind === 'list' || kind === 'stats' || kind === 'checkpoint') return { kind, client }
  return { kind, client, task }
}

function drawRogue(random: Random, rogue: number) {
  const steps = Array.from({ length: random.integer(4) }, () => drawStep(random))
  const queue = random.pick(['default', 'default', 'other'])
  return { kind: 'rogue', rogue, queue, steps } as const
}

function drawStep(random: Random): RogueStep {
  return {
    afterMs: random.pick([0, 0, 50, 400, 1200, 4000]),
    says: random.pick([
      ...(['heartbeat', 'complete', 'complete', 'complete'] as const),
      ...(['complete otherwise', 'fail'] as const),
    ]),
    lease: random.pick(['own', 'own', 'own', 'foreign', 'made up']),
    reportId: random.pick(['a', 'a', 'b', null]),
  }
}

type Draw = (random: Random, cast: Pick<Cast, 'workers' | 'healAtMs'>) => Trouble
type DrawnKind = Exclude<TroubleKind, EngineTrouble['kind']>

const keeps = ['none', 'all', 'random', 'random'] as const
const downMs = (random: Random) => random.pick([1, 100, 600, 2000])
const forMs = (random: Random) => random.pick([50, 400, 1500, 4000])
const who = (random: Random) => random.integer(8)

const draws: { readonly [K in DrawnKind]: Draw } = {
  'power loss': (random) => ({
    kind: 'power loss',
    keep: random.pick(keeps),
    downMs: downMs(random),
    damage: random.chance(0.2) ? [drawDamage(random)] : [],
  }),
  'kill coordinator': (random) => ({ kind: 'kill coordinator', downMs: downMs(random) }),
  'end at call': (random) => ({
    kind: 'end at call',
    how: random.pick(['crash', 'crash', 'kill']),
    when: random.pick(['before', 'after']),
    calls: random.pick([1, 4, 30]),
    keep: random.pick(keeps),
    downMs: downMs(random),
  }),
  'disk error': (random) => ({
    kind: 'disk error',
    code: random.pick(['EIO', 'EIO', 'ENOSPC']),
    on: random.pick<DiskCalls>(['write', 'sync', 'open', 'read', 'rename', 'any']),
    times: random.pick([1, 1, 5]),
  }),
  'failed sync': (random) => ({
    kind: 'failed sync',
    landed: random.pick([0, 0.5, 1]),
    model: random.pick(['clean-page', 'clean-page', 'reverted', 'reverted', 'late', 'dead']),
  }),
  'short write': (random) => ({ kind: 'short write', times: random.pick([1, 3]) }),
  'disk full': (random) => ({
    kind: 'disk full',
    leftBytes: random.pick([0, 0, 80_000]),
    forMs: forMs(random),
  }),
  'drop pages': () => ({ kind: 'drop pages' }),
  reset: (random) => ({ kind: 'reset', who: who(random) }),
  'half open': (random) => ({ kind: 'half open', who: who(random) }),
  stall: (random) => ({ kind: 'stall', who: who(random), forMs: forMs(random) }),
  'lose answers': (random) => ({ kind: 'lose answers', who: who(random), forMs: forMs(random) }),
  partition: (random) => ({ kind: 'partition', who: who(random), forMs: forMs(random) }),
  'kill worker': (random, { workers }) => ({
    kind: 'kill worker',
    worker: random.integer(workers),
    downMs: downMs(random),
  }),
  'pause worker': (random, { workers }) => ({
    kind: 'pause worker',
    worker: random.integer(workers),
    forMs: forMs(random),
  }),
  'pause coordinator': (random) => ({ kind: 'pause coordinator', forMs: forMs(random) }),
  'step clock': (random) => ({
    kind: 'step clock',
    byMs: random.pick([-3_600_000, -2000, 2000, 60_000]),
  }),
  'drift clock': (random) => ({ kind: 'drift clock', rate: random.pick([0, 0.5, 1.1, 3]) }),
}

function drawDamage(random: Random): Damage {
  return {
    kind: random.pick(['flip', 'flip', 'lose', 'old']),
    file: random.next(),
    place: random.next(),
  }
}

/** Approximate number of troubles of each chosen kind. */
const perKind = 3

function drawFaults(random: Random, cast: Pick<Cast, 'workers' | 'healAtMs'>): PlannedTrouble[] {
  const kinds = (Object.keys(draws) as DrawnKind[]).filter(() => random.chance(0.22))
  const faults = kinds.flatMap((kind) =>
    Array.from({ length: 1 + random.integer(perKind) }, () => ({
      atMs: random.integer(cast.healAtMs),
      ...draws[kind](random, cast),
    })),
  )
  return faults.sort((a, b) => a.atMs - b.atMs)
}
