import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { LossReason, WorkerObserver } from './observer.js'

/** The sources of the gauges, read at each scrape. */
export interface Measured {
  readonly slots: number
  readonly slotsTaken: () => number
  readonly isConnected: () => boolean
}

/** Losses that no heartbeat reported. */
const unasked: readonly LossReason[] = ['DEADLINE', 'GRANTED_ANEW']

/** The metrics of a worker, as Prometheus text. */
export class WorkerMetrics {
  readonly #registry = new Registry()
  readonly #leases = this.#counter('tenure_worker_leases_total', 'Tasks granted to this worker.')
  readonly #heartbeats = this.#counter(
    'tenure_worker_heartbeats_total',
    'Heartbeats by outcome: extended, lost (rejected for good), failed (not answered, or rejected for now).',
    ['outcome'],
  )
  readonly #left = this.#histogram(
    'tenure_worker_lease_left_seconds',
    "Time left on a lease after a heartbeat was answered, by this worker's clock.",
    [0.1, 0.5, 1, 2, 5, 10, 15, 20, 25, 30, 60],
  )
  readonly #losses = this.#counter(
    'tenure_worker_leases_lost_total',
    "Leases lost while the handler ran, by reason. DEADLINE: this worker's clock passed the deadline. GRANTED_ANEW: this worker was granted the same task again.",
    ['reason'],
  )
  readonly #handlers = this.#histogram(
    'tenure_worker_handler_seconds',
    'Duration of handlers, by outcome.',
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800, 3600],
    ['outcome'],
  )
  readonly #reports = this.#counter(
    'tenure_worker_reports_total',
    'Reports by answer (committed, cancelled, rejected, or unreported) and reason.',
    ['answer', 'reason'],
  )
  readonly #lateReports = this.#counter(
    'tenure_worker_late_reports_total',
    "Results sent after the worker's own deadline, because the handler returned within its grace. Their answers count in tenure_worker_reports_total.",
  )
  readonly #protocolErrors = this.#counter(
    'tenure_worker_protocol_errors_total',
    'Rejections caused by a bug or misuse, by request (lease, heartbeat, report) and reason. The first one stops the worker unless keepGoing is set.',
    ['request', 'reason'],
  )
  readonly #stuck = this.#counter(
    'tenure_worker_handlers_stuck_total',
    'Handlers that ignored their abort signal and could not be terminated.',
  )
  readonly #pollFailures = this.#counter(
    'tenure_worker_poll_failures_total',
    'Lease requests that failed or were rejected.',
  )
  readonly #connections = this.#counter(
    'tenure_worker_connections_total',
    'Connections to a coordinator.',
  )
  readonly #hostCrashes = this.#counter(
    'tenure_worker_host_crashes_total',
    'Handler threads or processes that ended while idle.',
  )

  /** `ofProcess` adds the metrics of the Node process. Their collection cannot be stopped. */
  constructor(ofProcess: boolean) {
    if (ofProcess) collectDefaultMetrics({ register: this.#registry, prefix: 'tenure_' })
  }

  readonly observer: WorkerObserver = {
    connected: () => this.#connections.inc(),
    protocolError: ({ reason }, request) => this.#protocolErrors.inc({ request, reason }),
    pollFailed: () => this.#pollFailures.inc(),
    leased: () => this.#leases.inc(),
    extended: (_task, leftMs) => {
      this.#heartbeats.inc({ outcome: 'extended' })
      this.#left.observe(leftMs / 1000)
    },
    heartbeatFailed: () => this.#heartbeats.inc({ outcome: 'failed' }),
    leaseLost: (_task, reason) => {
      this.#losses.inc({ reason })
      if (!unasked.includes(reason)) this.#heartbeats.inc({ outcome: 'lost' })
    },
    handlerStuck: () => this.#stuck.inc(),
    handlerEnded: (_task, outcome, tookMs) => {
      this.#handlers.observe({ outcome: outcome.kind }, tookMs / 1000)
    },
    reportedLate: () => this.#lateReports.inc(),
    committed: () => this.#reports.inc({ answer: 'committed', reason: '' }),
    cancelled: (_task, { reason }) => this.#reports.inc({ answer: 'cancelled', reason }),
    rejected: (_task, { reason }, what) => {
      if (what === 'report') this.#reports.inc({ answer: 'rejected', reason })
    },
    unreported: (_task, reason) => this.#reports.inc({ answer: 'unreported', reason }),
    hostCrashed: () => this.#hostCrashes.inc(),
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  measure({ slots, slotsTaken, isConnected }: Measured): void {
    this.#gauge('tenure_worker_slots', 'Maximum number of concurrent tasks.', () => slots)
    this.#gauge('tenure_worker_slots_taken', 'Slots whose handler has not ended.', slotsTaken)
    this.#gauge('tenure_worker_connected', '1 while connected to a coordinator, else 0.', () =>
      isConnected() ? 1 : 0,
    )
  }

  #gauge(name: string, help: string, measure: () => number): void {
    const collect = () => gauge.set(measure())
    const gauge: Gauge = new Gauge({ name, help, registers: [this.#registry], collect })
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.#registry] })
  }

  #histogram(name: string, help: string, buckets: number[], labelNames: string[] = []): Histogram {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.#registry] })
  }
}
