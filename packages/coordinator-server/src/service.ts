import type { HttpPort } from '@tenure/http-port'
import { protocolVersion, type Welcome } from '@tenure/protocol'
import { type Clock, Observers, type Timer } from '@tenure/seams'
import { position, type State } from '@tenure/state-machine'
import type { Log } from '@tenure/wal'
import { countAllTasks } from './checkpoints/checkpoint-of-log.js'
import type { Checkpointer } from './checkpoints/checkpointer.js'
import type { CommitLog } from './core/commit-log.js'
import { Coordinator } from './core/coordinator.js'
import { type CoordinatorObserver, coordinatorHooks } from './core/coordinator-parts.js'
import type { DecisionClock } from './decide/decision-time.js'
import { WorkerRegistry } from './decide/worker-registry.js'
import type { HistoryReader } from './history/history-page.js'
import type { Lifetime } from './lifetime.js'
import type { ServerLimits } from './net/limits.js'
import type { ConnectionCount, Peers } from './net/peers.js'
import type { Listener } from './net/transport.js'
import type { DiskWatch } from './observe/disk-watch.js'
import type { Metrics } from './observe/metrics.js'
import type { Readiness, RecoveryWatch } from './observe/startup.js'
import type { Settings } from './options/options.js'

/** The log that takes the decisions, its clock, and how often a coordinator has led it before. */
export interface DecisionSource {
  readonly log: CommitLog
  readonly time: DecisionClock
  readonly epoch: number
  readonly restarts: number
}

/** The components of a coordinator that has opened its log, and serves when it may decide. */
export interface Running {
  readonly log: Log
  readonly state: State
  readonly replayed: number
  readonly history: HistoryReader
  readonly checkpointer: Checkpointer | undefined
  readonly disk: DiskWatch
  readonly metrics: Metrics
  readonly readiness: Readiness
  readonly watch: RecoveryWatch
  readonly limits: ServerLimits
  readonly listener: Listener
  readonly http: HttpPort | undefined
  readonly peers: Peers
  readonly connections: ConnectionCount
  coordinator: Coordinator | undefined
}

/** Expires leases, and accepts requests. */
export async function serve(
  settings: Settings,
  lifetime: Lifetime,
  running: Running,
  { log: commitLog, time, epoch, restarts }: DecisionSource,
): Promise<void> {
  const { observer, clock, knobs } = settings
  const { log, state, checkpointer, disk, metrics, limits, listener, peers, connections } = running
  const coordinatorObservers = [metrics.coordinatorObserver, observer]
  const coordinator = new Coordinator({
    state,
    log: commitLog,
    clock,
    time,
    knobs,
    registry: new WorkerRegistry(),
    history: running.history,
    epoch,
    restarts,
    connections: () => connections.size,
    disk: () => disk,
    waitingPollsMax: limits.waitingPollsMax,
    checkpoint: checkpointer && (() => checkpointer.make()),
    answerBytesMax: Math.floor(limits.frameBytesMax / 2),
    observer: new Observers<CoordinatorObserver>(coordinatorHooks, coordinatorObservers).all,
    onFailure: (error) => lifetime.fail(error),
  })
  running.coordinator = coordinator
  lifetime.defer(() => endService(clock, listener, coordinator, peers))
  await running.watch.measure('expiryMs', () => coordinator.start())

  await disk.refresh(log)
  // Must be the last step that can fail, so that a failed startup does not count as a start.
  await log.markStarted()
  const recovery = running.watch.times
  metrics.measure({
    state,
    time,
    epoch,
    restarts,
    recovery,
    log,
    freeBytes: () => disk.freeBytes,
    connections: () => connections.size,
    waitingPolls: () => coordinator.waitingPolls,
  })
  peers.setStanding({ role: 'active', coordinator, welcome: welcome(settings, log, epoch) })
  running.readiness.ready(recovery)
  // Told before requests are drained.
  lifetime.defer(() => running.readiness.ending())
  const { port } = listener
  const { replayed } = running
  const httpPort = running.http?.port
  const { lastLsn } = position(state)
  const tasks = countAllTasks(state)
  observer.started?.({ port, httpPort, epoch, restarts, lastLsn, replayed, tasks, ...recovery })
}

/** Time limit for draining requests and answers at shutdown. */
const stopMs = 5000

function welcome({ knobs, limits }: Settings, log: Log, epoch: number): Welcome {
  return {
    version: protocolVersion,
    epoch,
    leaseDurationMs: knobs.leaseDurationMs,
    heartbeatIntervalMs: knobs.heartbeatIntervalMs,
    syncMode: log.sync,
    limits: {
      frameBytesMax: limits.frameBytesMax,
      payloadBytesMax: knobs.payloadBytesMax,
      resultBytesMax: knobs.resultBytesMax,
      requestsInFlightMax: limits.requestsInFlightMax,
      pollsPerConnectionMax: limits.pollsPerConnectionMax,
      waitMsMax: knobs.waitMsMax,
    },
    log: log.logId,
  }
}

/** Stops accepting connections, then drains requests and answers within a time limit. */
async function endService(
  clock: Clock,
  listener: Listener,
  coordinator: Coordinator,
  peers: Peers,
): Promise<void> {
  const closed = listener.close()
  // A batch may wait for disk space indefinitely; closing the log ends the wait.
  await within(
    stopMs,
    clock,
    coordinator.stop().catch(() => {}),
  )
  peers.end()
  await within(stopMs, clock, closed)
  peers.destroy()
}

/** Waits for the work, at most `ms`. */
async function within(ms: number, clock: Clock, work: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined
  const tooLong = new Promise<void>((resolve) => {
    timer = clock.setTimer(ms, resolve)
  })
  await Promise.race([work, tooLong])
  timer?.cancel()
}
