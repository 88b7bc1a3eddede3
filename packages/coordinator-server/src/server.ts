import { randomInt } from 'node:crypto'
import type { HttpPort } from '@tenure/http-port'
import { type Clock, Observers, type Timer } from '@tenure/seams'
import { position, type State } from '@tenure/state-machine'
import { largestContents } from '@tenure/state-machine/internal'
import { type Log, type LogObserver, openLog } from '@tenure/wal'
import { CheckpointThread } from './checkpoints/checkpoint-thread.js'
import {
  Checkpointer,
  type CheckpointObserver,
  checkpointHooks,
} from './checkpoints/checkpointer.js'
import { recover } from './core/recovery.js'
import { DecisionTime } from './decide/decision-time.js'
import { cannotListen } from './errors.js'
import type { HistoryReader } from './history/history-page.js'
import { HistoryThread } from './history/history-thread.js'
import { Lifetime } from './lifetime.js'
import { EarlySockets } from './net/early-sockets.js'
import { Gate } from './net/gate.js'
import type { ServerLimits } from './net/limits.js'
import { netTransport } from './net/net-transport.js'
import { ConnectionCount, Peers } from './net/peers.js'
import type { Listener } from './net/transport.js'
import { DiskWatch } from './observe/disk-watch.js'
import { serveHttp } from './observe/http-server.js'
import { Metrics } from './observe/metrics.js'
import { Readiness, RecoveryWatch } from './observe/startup.js'
import { type OpenFileShares, shareOpenFiles } from './options/open-files.js'
import {
  type CoordinatorOptions,
  checkFrameLimit,
  resolveOptions,
  type Settings,
} from './options/options.js'
import { prepareReplication } from './replication.js'
import { type Running, serve } from './service.js'

/** A running coordinator. */
export interface CoordinatorServer {
  readonly port: number
  readonly httpPort: number | undefined
  /** The live state, to read with the views of `@tenure/state-machine`. */
  readonly state: State
  /** Whether it serves requests. Of several coordinators on a shared log, one is active. */
  readonly role: 'active' | 'standby'
  /** Resolves when the server has ended: with `undefined` after `stop`, or with the error that ended it. */
  readonly ended: Promise<unknown>
  /** Stops accepting connections, completes in-flight records, and releases the log. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Opens and replays the log, expires leases, and listens. `/readyz` reports the progress of the replay. */
export async function startCoordinator(
  options: CoordinatorOptions = {},
): Promise<CoordinatorServer> {
  const settings = resolveOptions(options)
  const lifetime = new Lifetime()
  try {
    const server = await start(settings, lifetime)
    lifetime.started()
    return server
  } catch (error) {
    // If the log has failed, report that, not the errors caused by closing it.
    const cause = lifetime.failure ?? error
    await lifetime.end()
    throw cause
  }
}

const maintenanceMs = 1000
const dayMs = 24 * 3600 * 1000
/** Time services step a clock by larger errors and slew smaller ones. */
const clockBehindMinMs = 1000

const logHooks = {
  committed: true,
  rolled: true,
  sparePrepared: true,
  spaceChanged: true,
  failed: true,
} as const

/** Starts components in dependency order; `lifetime` closes them in reverse order. */
async function start(settings: Settings, lifetime: Lifetime): Promise<CoordinatorServer> {
  const { observer, clock, dataDir, tokens } = settings
  lifetime.onFailure((error) => observer.failed?.(error))
  const watch = new RecoveryWatch(clock, settings.recoveringSinceMs)
  const openFiles = shareOpenFiles()
  const metrics = new Metrics(settings.httpPort !== false)
  const readiness = new Readiness()
  const limits = limitsWithin(openFiles, settings)

  const http = await openHttp(settings, openFiles, metrics, readiness, lifetime)
  const early = new EarlySockets(limits.connectionsMax)
  // Listen before opening the log: each open creates a file, and a supervisor may restart us every second.
  const listener = await listen(settings, early, lifetime)

  const disk = new DiskWatch(settings.diskLowBytes, observer)
  const observers = new Observers<LogObserver>(logHooks, [
    metrics.logObserver,
    settings.log.observer ?? {},
    disk.logObserver,
    { failed: (error) => lifetime.fail(error) },
  ])
  const replication = prepareReplication(settings)
  await replication?.seed()
  const log = await watch.measure('openMs', () =>
    openLog(dataDir, { ...settings.log, ...replication?.logOptions, observer: observers.all }),
  )
  lifetime.defer(() => log.close())
  observer.recovered?.(log.recovery)

  const { state, replayed } = await watch.measure('replayMs', () =>
    replay(log, settings, readiness),
  )
  checkFrameLimit(limits, largestContents(state))

  const history = openHistory(settings, lifetime)
  const checkpointer = openCheckpointer(settings, log, disk, metrics, lifetime)
  const tick = () => checkpointer?.tick()
  observers.add({ rolled: tick, spaceChanged: tick })
  await watch.measure('checkpointMs', async () => checkpointer?.makeAtStart(state))

  const context = {
    limits,
    gate: new Gate(tokens),
    now: () => clock.monotonicMs(),
    soon: (callback: () => void) => clock.soon(callback),
    onViolation: (address: string, reason: string, message: string) =>
      observer.refused?.({ address, reason, message }),
  }
  const connections = new ConnectionCount()
  const standby = { role: 'standby' } as const
  const peers = new Peers(context, standby, limits, { connections, refusedMax: openFiles.refused })
  // No decision is possible after a failure: closing the connections is the only answer left.
  lifetime.onFailure(() => peers.destroy())
  const opened = { log, state, replayed, history, checkpointer, disk, metrics, readiness, watch }
  const running: Running = {
    ...opened,
    limits,
    listener,
    http,
    peers,
    connections,
    coordinator: undefined,
  }

  if (replication === undefined) {
    const { latestClockMs, epoch, starts } = log.recovery
    const time = anchorTime(settings, Math.max(latestClockMs, position(state).lastAt))
    await serve(settings, lifetime, running, { log, time, epoch, restarts: starts })
    early.open((socket) => peers.accept(socket))
  } else {
    early.open((socket) => peers.accept(socket))
    replication.begin(lifetime, running, (source) => serve(settings, lifetime, running, source))
  }
  const maintenance = every(maintenanceMs, clock, () => {
    peers.checkTime()
    running.coordinator?.tidy()
    tick()
    replication?.tick()
    void disk.refresh(log)
  })
  lifetime.defer(() => maintenance.cancel())
  tick()
  return {
    port: listener.port,
    httpPort: http?.port,
    state,
    get role() {
      return peers.role
    },
    ended: lifetime.ended,
    stop: () => lifetime.end(),
    [Symbol.asyncDispose]: () => lifetime.end(),
  }
}

function limitsWithin({ connections }: OpenFileShares, settings: Settings): ServerLimits {
  const { limits, observer } = settings
  if (limits.connectionsMax <= connections) return limits
  observer.fewerConnections?.(connections)
  return { ...limits, connectionsMax: connections }
}

async function openHttp(
  settings: Settings,
  openFiles: OpenFileShares,
  metrics: Metrics,
  readiness: Readiness,
  lifetime: Lifetime,
): Promise<HttpPort | undefined> {
  const { httpHost: host, httpPort: port, httpAllowedHosts: allowedHosts } = settings
  if (port === false) return undefined
  const limits = { connectionsMax: openFiles.http }
  const health = () => readiness.health
  const http = await serveHttp({ host, port, allowedHosts, limits, metrics, health })
  lifetime.defer(() => http.close())
  return http
}

/** Connections wait in `early` until requests are served. */
async function listen(
  settings: Settings,
  early: EarlySockets,
  lifetime: Lifetime,
): Promise<Listener> {
  const { host, port, tls } = settings
  const { transport = netTransport({ host, port, tls }) } = settings
  try {
    const listener = await transport.listen((socket) => early.accept(socket))
    let closed: Promise<void> | undefined
    const closeOnce = () => {
      early.close()
      closed ??= listener.close()
      return closed
    }
    lifetime.defer(closeOnce)
    return { port: listener.port, close: closeOnce }
  } catch (cause) {
    throw cannotListen('clients and workers', 'port', cause)
  }
}

async function replay(
  log: Log,
  { observer, clock }: Settings,
  readiness: Readiness,
): Promise<{ readonly state: State; readonly replayed: number }> {
  const startMs = clock.monotonicMs()
  let replayed = 0
  const state = await recover(log, {
    hashKey: randomInt(2 ** 48 - 1),
    onProgress: (applied, total) => {
      replayed = applied
      readiness.replaying(applied, total)
      observer.replaying?.({ applied, total, ms: clock.monotonicMs() - startMs })
    },
  })
  return { state, replayed }
}

function openHistory(settings: Settings, lifetime: Lifetime): HistoryReader {
  const { dataDir, clock, historyReader } = settings
  if (historyReader !== undefined) return historyReader
  const thread = new HistoryThread(dataDir, clock)
  lifetime.defer(() => thread.close())
  return thread
}

/** A checkpoint thread can only read the machine's disk, not a custom one. */
function openCheckpointer(
  settings: Settings,
  log: Log,
  disk: DiskWatch,
  metrics: Metrics,
  lifetime: Lifetime,
): Checkpointer | undefined {
  const { dataDir, checkpoints: knobs, observer, clock, checkpointMaker } = settings
  const isOfMachine = settings.log.disk === undefined
  const maker = checkpointMaker ?? (isOfMachine ? new CheckpointThread(dataDir) : undefined)
  if (maker === undefined) return undefined
  const checkpointObservers = [metrics.checkpointObserver, observer]
  const checkpointer = new Checkpointer({
    log,
    clock,
    maker,
    knobs,
    isDiskFull: () => disk.isFull,
    observer: new Observers<CheckpointObserver>(checkpointHooks, checkpointObservers).all,
  })
  lifetime.defer(() => checkpointer.stop())
  return checkpointer
}

/** `semantics` §1: leases and delays depend on decision time, so report a clock that has jumped. */
function anchorTime({ clock, observer }: Settings, latestKnownMs: number): DecisionTime {
  const time = new DecisionTime(clock, latestKnownMs)
  const aheadMs = clock.now() - latestKnownMs
  if (latestKnownMs > 0 && aheadMs > dayMs) observer.clockAhead?.(aheadMs)
  if (-aheadMs >= clockBehindMinMs) observer.clockBehind?.(-aheadMs)
  return time
}

/** Repeats the work with `ms` in between. */
function every(ms: number, clock: Clock, work: () => void): Timer {
  let timer: Timer
  const wait = () => {
    const next = () => {
      work()
      wait()
    }
    timer = clock.setTimer(ms, next, 'background')
  }
  wait()
  return { cancel: () => timer.cancel() }
}
