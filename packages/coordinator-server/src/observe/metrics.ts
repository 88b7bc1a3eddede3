import { type Counters, countTasks, getCounters, type State } from '@tenure/state-machine'
import { longestQueues } from '@tenure/state-machine/internal'
import type { Commit, LogObserver } from '@tenure/wal'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CheckpointedLog } from '../checkpoints/checkpointed-log.js'
import type { CheckpointObserver } from '../checkpoints/checkpointer.js'
import { replayMs as replayMsOf } from '../checkpoints/replay-estimate.js'
import type { CoordinatorObserver } from '../core/coordinator-parts.js'
import type { DecisionClock } from '../decide/decision-time.js'
import { RequestMetrics } from './request-metrics.js'
import type { RecoveryTimes } from './startup.js'

/** The sources of the metrics, read when they are scraped. */
export interface MetricSources {
  readonly state: State
  readonly time: DecisionClock
  readonly epoch: number
  readonly restarts: number
  readonly recovery: RecoveryTimes
  readonly log: CheckpointedLog
  readonly freeBytes: () => number
  readonly connections: () => number
  readonly waitingPolls: () => number
}

/** Counters of the replayed state, which a restart does not reset. */
const counterMetrics: { readonly [C in keyof Counters]: readonly [name: string, help: string] } = {
  tasksCreated: ['tenure_tasks_created_total', 'Tasks submitted.'],
  leasesGranted: ['tenure_leases_granted_total', 'Leases granted, one per started attempt.'],
  leasesExtended: ['tenure_leases_extended_total', 'Leases extended by a heartbeat.'],
  leasesExpired: ['tenure_lease_expirations_total', 'Leases that expired.'],
  leasesExpiredAtStart: [
    'tenure_lease_expirations_at_start_total',
    'Leases that expired while no coordinator was running.',
  ],
  tasksCompleted: ['tenure_tasks_completed_total', 'Tasks completed.'],
  retries: ['tenure_retries_total', 'Failed attempts that returned their task to WAITING.'],
  tasksFailed: ['tenure_tasks_failed_total', 'Tasks that failed with no retries left.'],
  tasksDead: ['tenure_tasks_dead_total', 'Tasks stopped by an administrator or as poison.'],
  tasksForgotten: ['tenure_tasks_forgotten_total', 'Ended tasks removed after their retention.'],
  possibleDuplicates: [
    'tenure_duplicate_executions_possible_total',
    'Attempts granted after the previous attempt expired.',
  ],
  confirmedDuplicates: [
    'tenure_duplicate_executions_confirmed_total',
    'Expired attempts that were followed by another attempt and whose worker still reported.',
  ],
  refusedReports: [
    'tenure_reports_refused_total',
    'Reports answered CANCELLED because their lease was lost, counted once per lease.',
  ],
}

/** The metrics of 002 §8 and further ones for operators, in Prometheus text format. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new RequestMetrics()
  readonly #margin = this.#histogram(
    'tenure_lease_margin_seconds',
    'Time between a heartbeat and the expiry of its lease.',
    [0, 0.1, 0.5, 1, 2, 5, 10, 15, 20, 25, 30, 60],
  )
  readonly #commitSeconds = this.#histogram(
    'tenure_commit_seconds',
    'Time to write a batch and make it durable.',
    [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1],
  )
  readonly #commitRecords = this.#histogram(
    'tenure_commit_records',
    'Records in a batch.',
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096],
  )
  readonly #logBytes = this.#counter(
    'tenure_log_written_bytes_total',
    'Bytes written to the log since startup.',
  )
  readonly #diskFull = this.#gauge(
    'tenure_disk_full',
    '1 while the disk has no space for the next log segment.',
  )

  readonly #checkpoints = this.#counter(
    'tenure_checkpoints_total',
    'Checkpoint attempts since startup, by outcome.',
    ['outcome'],
  )
  readonly #checkpointSeconds = this.#gauge(
    'tenure_checkpoint_seconds',
    'Time to make the newest checkpoint since startup; excludes replay for one made at startup.',
  )

  /** `ofProcess` adds process metrics, which are collected for the rest of the process's life. */
  constructor(ofProcess: boolean) {
    // Start at 0: an alert does not see the increase of a counter that first appears as 1.
    for (const outcome of ['made', 'failed']) this.#checkpoints.inc({ outcome }, 0)
    if (ofProcess) collectDefaultMetrics({ register: this.#registry, prefix: 'tenure_' })
  }

  /** Receives the log's reports. */
  readonly logObserver: LogObserver = {
    committed: ({ durationMs, records, bytes }: Commit) => {
      this.#commitSeconds.observe(durationMs / 1000)
      this.#commitRecords.observe(records)
      this.#logBytes.inc(bytes)
    },
    spaceChanged: (isFull) => this.#diskFull.set(isFull ? 1 : 0),
  }

  /** Receives checkpoint events. */
  readonly checkpointObserver: CheckpointObserver = {
    checkpointed: ({ replayMs, writeMs }) => {
      this.#checkpoints.inc({ outcome: 'made' })
      this.#checkpointSeconds.set((replayMs + writeMs) / 1000)
    },
    checkpointFailed: () => this.#checkpoints.inc({ outcome: 'failed' }),
  }

  /** Receives events of the core loop. */
  readonly coordinatorObserver: CoordinatorObserver = {
    answered: (kind, answer, tookMs) => this.#requests.answered(kind, answer, tookMs),
    leaseMargin: (marginMs) => this.#margin.observe(marginMs / 1000),
  }

  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${this.#requests.text()}`
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** Adds the metrics that need the recovered state. Call it once. */
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
  }: MetricSources): void {
    for (const [name, [metric, help]] of Object.entries(counterMetrics)) {
      this.#addCounter(metric, help, () => getCounters(state)[name as keyof Counters])
    }
    this.#addGauge(
      'tenure_leased_tasks',
      'Tasks that a worker currently owns.',
      () => countTasks(state).leased,
    )
    this.#addGauge(
      'tenure_waiting_tasks',
      'Waiting tasks, eligible or not.',
      () => countTasks(state).waiting,
    )
    this.#addGauge(
      'tenure_ended_tasks',
      'Ended tasks that are still remembered.',
      () => countTasks(state).ended,
    )
    this.#addGauge(
      'tenure_tasks_bytes',
      'Memory used by payloads, results, reasons and ids.',
      () => countTasks(state).bytes,
    )
    this.#addGauge(
      'tenure_coordinator_restarts',
      'Number of times a coordinator became ready on this log, not counting the first.',
      () => restarts,
    )
    this.#addGauge(
      'tenure_log_epoch',
      'Number of times this log was opened, including failed startups.',
      () => epoch,
    )
    this.#addRecovery(recovery)
    this.#addGauge(
      'tenure_replay_estimate_seconds',
      'Estimated time for a restart on a slow machine to replay the records after the newest checkpoint.',
      () => replayMsOf(log) / 1000,
    )
    this.#addGauge(
      'tenure_checkpoint_lsn',
      'LSN of the newest checkpoint.',
      () => log.checkpointLsn,
    )
    this.#addGauge(
      'tenure_disk_free_bytes',
      'Free space on the disk that holds the log.',
      freeBytes,
    )
    this.#addGauge('tenure_log_bytes', 'Size of all log files, without checkpoints.', () =>
      log.segments.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    this.#addGauge(
      'tenure_clock_offset_seconds',
      'How far decision time is ahead of the wall clock.',
      () => time.offsetMs / 1000,
    )
    this.#addGauge('tenure_connections', 'Open connections.', connections)
    this.#addGauge(
      'tenure_waiting_polls',
      'Lease requests that are waiting for a task.',
      waitingPolls,
    )
    const lag: Gauge = new Gauge({
      name: 'tenure_queue_lag_seconds',
      help: 'Time since the oldest eligible task of a queue became eligible.',
      labelNames: ['queue'],
      registers: [this.#registry],
      collect: () => {
        lag.reset()
        const limits = { limit: queuesShownMax, lookAtMax: queuesScannedMax }
        for (const { queue, firstEligibleAt: oldest } of longestQueues(state, limits)) {
          if (oldest !== undefined) lag.set({ queue }, Math.max(0, time.now() - oldest) / 1000)
        }
      },
    })
  }

  #addRecovery({ recoveryMs, ...parts }: RecoveryTimes): void {
    this.#addGauge(
      'tenure_recovery_seconds',
      'Duration of the last startup, until requests were served.',
      () => recoveryMs / 1000,
    )
    this.#addGauge(
      'tenure_replay_seconds',
      'Duration of the log replay during startup; part of the recovery.',
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

  /** Exports a counter that is kept elsewhere and never decreases. */
  #addCounter(name: string, help: string, value: () => number): void {
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

  #addGauge(name: string, help: string, value: () => number): void {
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

/** Limits the number of exported time series. */
const queuesShownMax = 1000
/** Limits the time during which the scan delays decisions. */
const queuesScannedMax = 10_000
