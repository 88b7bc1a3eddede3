import { type Counters, countTasks, getCounters, type State } from '@tenure/state-machine'
import { longestQueues } from '@tenure/state-machine/internal'
import type { Commit, LogObserver } from '@tenure/wal'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CheckpointedLog } from '../checkpoints/checkpointed-log.js'
import type { CheckpointObserver } from '../checkpoints/checkpointer.js'
import { replayMs as replayMsOf } from '../checkpoints/replay-estimate.js'
import type { CoordinatorObserver } from '../core/coordinator-parts.js'
import type { DecisionTime } from '../decide/decision-time.js'
import { RequestMetrics } from './request-metrics.js'
import type { RecoveryTimes } from './startup.js'

/** What the metrics look at when they are asked for. */
export interface Measured {
  readonly state: State
  readonly time: DecisionTime
  readonly epoch: number
  readonly restarts: number
  readonly recovery: RecoveryTimes
  readonly log: CheckpointedLog
  readonly freeBytes: () => number
  readonly connections: () => number
  readonly waitingPolls: () => number
}

/** The counters of the replayed state: a restart does not reset them. */
const counterMetrics: { readonly [C in keyof Counters]: readonly [name: string, help: string] } = {
  tasksCreated: ['tenure_tasks_created_total', 'Tasks submitted.'],
  leasesGranted: ['tenure_leases_granted_total', 'Leases granted: executions begun.'],
  leasesExtended: ['tenure_leases_extended_total', 'Leases extended by a heartbeat.'],
  leasesExpired: ['tenure_lease_expirations_total', 'Leases revoked by time.'],
  leasesExpiredAtStart: [
    'tenure_lease_expirations_at_start_total',
    'Of the expirations those seen when a coordinator started.',
  ],
  tasksCompleted: ['tenure_tasks_completed_total', 'Tasks completed.'],
  retries: ['tenure_retries_total', 'Reports of failure that sent a task back to WAITING.'],
  tasksFailed: ['tenure_tasks_failed_total', 'Tasks that failed with no retry left.'],
  tasksDead: ['tenure_tasks_dead_total', 'Tasks stopped by an administrator or as poison.'],
  tasksForgotten: ['tenure_tasks_forgotten_total', 'Ended tasks dropped after their retention.'],
  possibleDuplicates: [
    'tenure_duplicate_executions_possible_total',
    'Attempts granted after the previous one had ended by expiry.',
  ],
  confirmedDuplicates: [
    'tenure_duplicate_executions_confirmed_total',
    'Attempts that expired, were followed by another attempt, and whose worker reported all the same.',
  ],
  refusedReports: [
    'tenure_reports_refused_total',
    'Reports answered CANCELLED because their lease was lost, one for each lease.',
  ],
}

/** 002 §8 and what an operator needs beside it, as Prometheus text. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new RequestMetrics()
  readonly #margin = this.#histogram(
    'tenure_lease_margin_seconds',
    'How long before the expiry of its lease a heartbeat arrived.',
    [0, 0.1, 0.5, 1, 2, 5, 10, 15, 20, 25, 30, 60],
  )
  readonly #commitSeconds = this.#histogram(
    'tenure_commit_seconds',
    'From the start of the write of a batch until it was durable.',
    [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1],
  )
  readonly #commitRecords = this.#histogram(
    'tenure_commit_records',
    'Records in a batch.',
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096],
  )
  readonly #logBytes = this.#counter(
    'tenure_log_written_bytes_total',
    'Bytes written to the log since the start.',
  )
  readonly #diskFull = this.#gauge(
    'tenure_disk_full',
    '1 while the disk has no room for the next segment of the log.',
  )

  readonly #checkpoints = this.#counter(
    'tenure_checkpoints_total',
    'Checkpoints made since the start, or not made because something failed.',
    ['outcome'],
  )
  readonly #checkpointSeconds = this.#gauge(
    'tenure_checkpoint_seconds',
    'Duration of making the newest checkpoint since startup. One made at startup has no replay of its own.',
  )

  /** With those of the whole process: they are collected from then on, and for ever. */
  constructor(ofProcess: boolean) {
    // Of a count that is not there until it is 1, an alert does not see that it grew.
    for (const outcome of ['made', 'failed']) this.#checkpoints.inc({ outcome }, 0)
    if (ofProcess) collectDefaultMetrics({ register: this.#registry, prefix: 'tenure_' })
  }

  /** What the log tells. */
  readonly ofLog: LogObserver = {
    committed: ({ durationMs, records, bytes }: Commit) => {
      this.#commitSeconds.observe(durationMs / 1000)
      this.#commitRecords.observe(records)
      this.#logBytes.inc(bytes)
    },
    spaceChanged: (isFull) => this.#diskFull.set(isFull ? 1 : 0),
  }

  /** What is told of checkpoints. */
  readonly ofCheckpoints: CheckpointObserver = {
    checkpointed: ({ replayMs, writeMs }) => {
      this.#checkpoints.inc({ outcome: 'made' })
      this.#checkpointSeconds.set((replayMs + writeMs) / 1000)
    },
    checkpointFailed: () => this.#checkpoints.inc({ outcome: 'failed' }),
  }

  /** What the core loop tells. */
  readonly ofCoordinator: CoordinatorObserver = {
    answered: (kind, answer, tookMs) => this.#requests.answered(kind, answer, tookMs),
    leaseMargin: (marginMs) => this.#margin.observe(marginMs / 1000),
  }

  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${this.#requests.text()}`
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** Called once, when there is a state. */
  measure({
    state,
    time,
    epoch,
    restarts,
    recovery,
    log,
    freeBytes,
    connections,
    waitingPolls,
  }: Measured): void {
    for (const [name, [metric, help]] of Object.entries(counterMetrics)) {
      this.#counted(metric, help, () => getCounters(state)[name as keyof Counters])
    }
    this.#asked(
      'tenure_leased_tasks',
      'Tasks that a worker owns now.',
      () => countTasks(state).leased,
    )
    this.#asked(
      'tenure_waiting_tasks',
      'Tasks that wait, eligible or not.',
      () => countTasks(state).waiting,
    )
    this.#asked(
      'tenure_ended_tasks',
      'Ended tasks that are remembered.',
      () => countTasks(state).ended,
    )
    this.#asked(
      'tenure_tasks_bytes',
      'Bytes of payloads, results and ids in memory.',
      () => countTasks(state).bytes,
    )
    this.#asked(
      'tenure_coordinator_restarts',
      'Number of times a coordinator became ready on this log, not counting the first.',
      () => restarts,
    )
    this.#asked('tenure_log_epoch', 'Times this log was opened, failed starts too.', () => epoch)
    this.#tellRecovery(recovery)
    this.#asked(
      'tenure_replay_due_seconds',
      'How long a restart would replay now what lies behind the newest checkpoint, on a slow machine.',
      () => replayMsOf(log) / 1000,
    )
    this.#asked(
      'tenure_checkpoint_lsn',
      'Where the newest checkpoint stands.',
      () => log.checkpointLsn,
    )
    this.#asked('tenure_disk_free_bytes', 'Room on the disk that holds the log.', freeBytes)
    this.#asked('tenure_log_bytes', 'Bytes of the files of the log, checkpoints not counted.', () =>
      log.segments.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    this.#asked(
      'tenure_clock_offset_seconds',
      'How far decision time is ahead of the wall clock.',
      () => time.offsetMs / 1000,
    )
    this.#asked('tenure_connections', 'Connections that are open.', connections)
    this.#asked('tenure_waiting_polls', 'Lease requests that wait for a task.', waitingPolls)
    const lag: Gauge = new Gauge({
      name: 'tenure_queue_lag_seconds',
      help: 'Age of the oldest eligible task of a queue.',
      labelNames: ['queue'],
      registers: [this.#registry],
      collect: () => {
        lag.reset()
        const limits = { limit: queuesShownMax, lookAtMax: queuesLookedAtMax }
        for (const { queue, firstEligibleAt: oldest } of longestQueues(state, limits)) {
          if (oldest !== undefined) lag.set({ queue }, Math.max(0, time.now() - oldest) / 1000)
        }
      },
    })
  }

  #tellRecovery({ recoveryMs, ...parts }: RecoveryTimes): void {
    this.#asked(
      'tenure_recovery_seconds',
      'Duration of the last start, until requests were served.',
      () => recoveryMs / 1000,
    )
    this.#asked(
      'tenure_replay_seconds',
      'Duration of the log replay at startup; part of the recovery.',
      () => parts.replayMs / 1000,
    )
    const seconds = this.#gauge(
      'tenure_recovery_part_seconds',
      'Duration of each part of the recovery: open, replay, checkpoint, expiry.',
      ['part'],
    )
    for (const [name, ms] of Object.entries(parts)) {
      seconds.set({ part: name.slice(0, -'Ms'.length) }, ms / 1000)
    }
  }

  /** Kept elsewhere, and never smaller than before. */
  #counted(name: string, help: string, value: () => number): void {
    const counter: Counter = new Counter({
      name,
      help,
      registers: [this.#registry],
      collect: () => {
        counter.reset()
        counter.inc(value())
      },
    })
  }

  #asked(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: () => gauge.set(value()),
    })
  }

  #gauge(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] })
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.#registry] })
  }

  #histogram(name: string, help: string, buckets: number[], labelNames: string[] = []): Histogram {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.#registry] })
  }
}

/** More queues than this would make more lines than anybody collects. */
const queuesShownMax = 1000
/** Every decision waits while they are looked at. */
const queuesLookedAtMax = 10_000
