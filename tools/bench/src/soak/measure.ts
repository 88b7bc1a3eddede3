import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { defaultCheckpointKnobs, logBytesBound } from '@tenure/coordinator-server/internal'
import { median } from '@tenure/harness'
import type { AppProcess, LogLine } from '@tenure/testing'
import { startProgram } from '../servers/stage.js'
import { type Kind, Load } from './load.js'
import { type Sample, takeSample } from './samples.js'
import { kinds, Stretches } from './stretches.js'

export interface SoakOptions {
  readonly seconds: number
  readonly livesPerSecond: number
  /** How much log a restart may have to replay, and how much history is kept. */
  readonly replayMs: number
  readonly historyBytes: number
  readonly segmentBytes: number
  readonly tell: (line: string) => void
}

export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly bound?: number
  readonly holds?: boolean
}

const mib = 2 ** 20
/** Ended tasks are forgotten this soon, so that memory reaches its final size early. */
const retention = '60s'
const sampleEveryMs = 1000
/** The share of the time in which Node compiles the code; latencies are not counted in it. */
const warmUpShare = 0.1

/** Runs the load, samples memory and disk meanwhile, then restarts the coordinator. */
export async function measureSoak(options: SoakOptions): Promise<Figure[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tenure-soak-'))
  const endings = [() => rm(dataDir, { recursive: true, force: true })]
  try {
    const stretches = new Stretches()
    const hear = (line: LogLine) => follow(stretches, line)
    const coordinator = startCoordinator(endings, dataDir, options, hear)
    const port = Number((await coordinator.line('started')).port)
    const warmAtMs = performance.now() + options.seconds * warmUpShare * 1000
    const load = await Load.connect(port, (kind, ms) => {
      if (performance.now() >= warmAtMs) stretches.add(kind, ms)
    })
    endings.push(() => load.close())
    const startedMs = performance.now()
    const samples = await runFor(options, load, coordinator, dataDir, stretches)
    const seconds = (performance.now() - startedMs) / 1000
    const restartSeconds = await restart(endings, coordinator, dataDir, options)
    const restartBound = options.replayMs / 1000 + startSeconds
    const made = { name: 'checkpoints made', value: stretches.checkpoints, unit: '' }
    const lives = load.completed / seconds
    return [
      { name: 'task lives', value: lives, unit: 'a second' },
      made,
      ...figuresOf(samples, options),
      ...kinds.flatMap((kind) => latenciesOf(stretches, kind)),
      {
        name: 'kill to first line "started"',
        value: restartSeconds,
        unit: 's',
        bound: restartBound,
        holds: restartSeconds <= restartBound,
      },
    ]
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}

/**
 * The part of a restart that does not depend on the log: starting Node and reading the checkpoint.
 */
const startSeconds = 2

function startCoordinator(
  endings: (() => Promise<void>)[],
  dataDir: string,
  { replayMs, historyBytes, segmentBytes }: SoakOptions,
  hear?: (line: LogLine) => void,
): AppProcess {
  const args = [
    ...['--data-dir', dataDir, '--port', '0', '--http-port', 'off', '--log-level', 'debug'],
    ...['--segment-bytes', `${segmentBytes}`, '--retention', retention],
    ...['--replay-max', `${replayMs}ms`],
    ...['--history-bytes-max', `${historyBytes}`],
  ]
  return startProgram(endings, 'coordinator', args, hear)
}

function follow(stretches: Stretches, { msg }: LogLine): void {
  if (msg === 'making a checkpoint') stretches.begin('checkpoint')
  if (msg === 'checkpoint made') stretches.begin('quiet')
}

/** Fewer checkpoints give no meaningful median; a busy machine takes longer to make this many. */
const leastCheckpoints = 2

async function runFor(
  { seconds, livesPerSecond, tell }: SoakOptions,
  load: Load,
  { pid }: AppProcess,
  dataDir: string,
  stretches: Stretches,
): Promise<Sample[]> {
  const enough = new AbortController()
  const running = load.run(livesPerSecond, enough.signal)
  // The result is awaited below. Until then a failure only ends the wait.
  const failed = running.then(() => {})
  const samples: Sample[] = []
  const isOver = (second: number) => second > seconds && stretches.checkpoints >= leastCheckpoints
  for (let second = 1; !isOver(second); second++) {
    await Promise.race([pause(sampleEveryMs), failed])
    if (existsSync(join(dataDir, 'checkpoint'))) samples.push(takeSample(second, pid, dataDir))
    if (second % 60 === 0) tell(describe(samples.at(-1), load))
  }
  enough.abort()
  await running
  return samples
}

function describe(sample: Sample | undefined, { completed }: Load): string {
  const { second = 0, residentBytes = 0, logBytes = 0, checkpointBytes = 0 } = sample ?? {}
  const inMib = (bytes: number) => `${Math.round(bytes / mib)} MiB`
  return `${second} s: ${completed} lives, memory ${inMib(residentBytes)}, log ${inMib(logBytes)}, checkpoints ${inMib(checkpointBytes)}`
}

function figuresOf(
  samples: readonly Sample[],
  { replayMs, historyBytes, segmentBytes }: SoakOptions,
): Figure[] {
  const knobs = { replayMsMax: replayMs, historyBytesMax: historyBytes }
  const bound = logBytesBound({ ...defaultCheckpointKnobs, ...knobs }, segmentBytes) / mib
  const log = Math.max(...samples.map(({ logBytes }) => logBytes)) / mib
  const checkpoints = Math.max(...samples.map(({ checkpointBytes }) => checkpointBytes)) / mib
  // During the first third memory still fills with remembered tasks.
  const steady = samples.slice(Math.floor(samples.length / 3))
  const quarter = Math.floor(steady.length / 4)
  const early = median(steady.slice(0, quarter).map(({ residentBytes }) => residentBytes)) / mib
  const late = median(steady.slice(-quarter).map(({ residentBytes }) => residentBytes)) / mib
  return [
    { name: 'log on the disk, maximum', value: log, unit: 'MiB', bound, holds: log <= bound },
    { name: 'checkpoints on the disk, maximum', value: checkpoints, unit: 'MiB' },
    { name: 'memory, first quarter of the last two thirds', value: early, unit: 'MiB' },
    {
      name: 'memory, last quarter',
      value: late,
      unit: 'MiB',
      bound: early * growthMax,
      holds: late <= early * growthMax,
    },
  ]
}

const growthMax = 1.05

/**
 * The bound applies to the median checkpoint: one second in which the shared disk stalls is not the
 * checkpoint's fault.
 */
function latenciesOf(stretches: Stretches, kind: Kind): Figure[] {
  const quiet = median(stretches.p99s('quiet', kind))
  const during = median(stretches.p99s('checkpoint', kind))
  const quietOfAll = stretches.p99('quiet', kind).toFixed(2)
  return [
    {
      name: `p99 of ${kind}, median checkpoint (else ${quiet.toFixed(2)})`,
      unit: 'ms',
      value: during,
      bound: 2 * quiet,
      holds: during <= 2 * quiet,
    },
    {
      name: `p99 of ${kind}, all checkpoints (else ${quietOfAll})`,
      unit: 'ms',
      value: stretches.p99('checkpoint', kind),
    },
  ]
}

async function restart(
  endings: (() => Promise<void>)[],
  coordinator: AppProcess,
  dataDir: string,
  options: SoakOptions,
): Promise<number> {
  const killedMs = performance.now()
  await coordinator.end()
  await startCoordinator(endings, dataDir, options).line('started')
  return (performance.now() - killedMs) / 1000
}
