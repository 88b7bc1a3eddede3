import { randomInt } from 'node:crypto'
import type { HttpPort } from '@tenure/http-port'
import { protocolVersion, type Welcome } from '@tenure/protocol'
import type { Timer } from '@tenure/seams'
import { largestContents, position, type State } from '@tenure/state-machine'
import { type Log, openLog } from '@tenure/wal'
import { countAllTasks } from './checkpoints/checkpoint-of-log.js'
import { CheckpointThread } from './checkpoints/checkpoint-thread.js'
import { Checkpointer } from './checkpoints/checkpointer.js'
import { Coordinator } from './core/coordinator.js'
import { observeBoth, observeCheckpointsTwice, observeLogTwice } from './core/observer.js'
import { recover } from './core/recovery.js'
import { DecisionTime } from './decide/decision-time.js'
import { WorkerRegistry } from './decide/worker-registry.js'
import { CoordinatorError } from './errors.js'
import type { HistoryReader } from './history/history-reader.js'
import { HistoryThread } from './history/history-thread.js'
import { EarlySockets } from './net/early-sockets.js'
import { Gate } from './net/gate.js'
import type { ServerLimits } from './net/limits.js'
import { netTransport } from './net/net-transport.js'
import type { PeerContext } from './net/peer.js'
import { Peers } from './net/peers.js'
import type { Listener, Socket } from './net/transport.js'
import { DiskWatch } from './observe/disk-watch.js'
import { type Health, serveHttp } from './observe/http-server.js'
import { Metrics } from './observe/metrics.js'
import { type RecoveryTimes, RecoveryWatch } from './observe/recovery-times.js'
import { shareOpenFiles } from './options/open-files.js'
import {
  type CoordinatorOptions,
  refuseTooSmall,
  type Settings,
  settle,
} from './options/options.js'

/** A coordinator that is running. */
export interface CoordinatorServer {
  readonly port: number
  readonly httpPort: number | undefined
  /** What it knows now, to be looked at with the views of `@tenure/state-machine`. */
  readonly state: State
  /** Settles when the server has ended: with `undefined` after `stop`, or with the error that ended it. */
  readonly ended: Promise<unknown>
  /** Accepts nobody any more, finishes what is on its way, and gives the log back. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Opens the log, replays it, expires what has expired, and listens. `/readyz` says meanwhile how far
 * the replay is.
 */
export async function startCoordinator(
  options: CoordinatorOptions = {},
): Promise<CoordinatorServer> {
  const server = new Server(settle(options))
  try {
    await server.start()
  } catch (error) {
    // Where the log has failed meanwhile, that is why, and not what its closing has interrupted.
    const cause = server.failure ?? error
    await server.abandon()
    throw cause
  }
  return server
}

const maintenanceMs = 1000
/** How long those who wait may take to get their last answers. */
const stopMs = 5000
const dayMs = 24 * 3600 * 1000
/** Time services step a clock that is further off, and slow one down that is less. */
const clockBehindMinMs = 1000

class Server implements CoordinatorServer {
  readonly ended: Promise<unknown>
  readonly #settings: Settings
  readonly #metrics: Metrics
  readonly #openFiles = shareOpenFiles()
  #end: (error: unknown) => void = () => {}
  #health: Health = { isReady: false }
  #replayed = 0
  #isDiskFull = false
  #http: HttpPort | undefined
  #log: Log | undefined
  #state: State | undefined
  #history: HistoryThread | undefined
  #coordinator: Coordinator | undefined
  #peers: Peers | undefined
  #early: EarlySockets | undefined
  #listener: Listener | undefined
  #checkpointer: Checkpointer | undefined
  #disk: DiskWatch | undefined
  #maintenance: Timer | undefined
  #stopping: Promise<void> | undefined
  #failure: unknown

  constructor(settings: Settings) {
    this.#settings = settings
    this.#metrics = new Metrics(settings.httpPort !== false)
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  get port(): number {
    return this.#listener?.port ?? 0
  }

  get httpPort(): number | undefined {
    return this.#http?.port
  }

  get state(): State {
    if (this.#state === undefined) throw new Error('the log has not been replayed')
    return this.#state
  }

  /** Why it cannot go on, if it cannot. */
  get failure(): unknown {
    return this.#failure
  }

  async start(): Promise<void> {
    const { observer, clock, recoveringSinceMs } = this.#settings
    const watch = new RecoveryWatch(clock, recoveringSinceMs)
    this.#http = await this.#serveHttp()
    const limits = this.#limits()
    const early = new EarlySockets(limits.connectionsMax)
    this.#early = early
    // Before the log is opened: an opening leaves a file on the disk, so a process that cannot listen, and is
    // started again each second, makes none.
    this.#listener = await this.#listen((socket) => early.accept(socket))
    const log = await watch.measure('openMs', () => this.#openLog())
    this.#log = log
    observer.recovered?.(log.recovery)
    const state = await watch.measure('replayMs', () => this.#replay(log))
    this.#state = state
    refuseTooSmall(limits, largestContents(state))
    const recovery = await this.#recover(log, state, limits, watch)
    const { epoch, starts: restarts } = log.recovery
    observer.started?.({
      ...{ port: this.port, httpPort: this.httpPort, epoch, restarts },
      ...{ lastLsn: position(state).lastLsn, replayed: this.#replayed },
      ...{ tasks: countAllTasks(state), ...recovery },
    })
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** The start has failed: gives back what was taken. */
  abandon(): Promise<void> {
    return this.#shutDown()
  }

  #openLog(): Promise<Log> {
    const { dataDir, log } = this.#settings
    return openLog(dataDir, {
      ...log,
      observer: {
        ...observeLogTwice(this.#metrics.ofLog, log.observer ?? {}),
        failed: (error) => {
          log.observer?.failed?.(error)
          this.#fail(error)
        },
        spaceChanged: (isFull) => {
          this.#metrics.ofLog.spaceChanged?.(isFull)
          log.observer?.spaceChanged?.(isFull)
          this.#isDiskFull = isFull
          this.#checkpointer?.tend()
        },
        rolled: (roll) => {
          log.observer?.rolled?.(roll)
          this.#checkpointer?.tend()
        },
      },
    })
  }

  async #serveHttp(): Promise<HttpPort | undefined> {
    const { httpHost: host, httpPort: port, httpAllowedHosts: allowedHosts } = this.#settings
    if (port === false) return undefined
    const limits = { connectionsMax: this.#openFiles.http }
    const health = () => this.#health
    return serveHttp({ host, port, allowedHosts, limits, metrics: this.#metrics, health })
  }

  #listen(onSocket: (socket: Socket) => void): Promise<Listener> {
    const { host, port, tls } = this.#settings
    const { transport = netTransport({ host, port, ...(tls && { tls }) }) } = this.#settings
    return transport.listen(onSocket).catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause)
      const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
      const hint = isTaken ? '; if no coordinator is running already, choose another port' : ''
      throw new CoordinatorError('COORDINATOR_CANNOT_LISTEN', `${why}${hint}`, { cause })
    })
  }

  #replay(log: Log): Promise<State> {
    const { observer, clock } = this.#settings
    const startMs = clock.monotonicMs()
    return recover(log, {
      hashKey: randomInt(2 ** 48 - 1),
      onProgress: (applied, total) => {
        this.#replayed = applied
        this.#health = { isReady: false, replayed: { applied, total } }
        observer.replaying?.({ applied, total, ms: clock.monotonicMs() - startMs })
      },
    })
  }

  /** The rest of the recovery, from the replayed state to the first request. */
  async #recover(
    log: Log,
    state: State,
    limits: ServerLimits,
    watch: RecoveryWatch,
  ): Promise<RecoveryTimes> {
    const { knobs, observer, tokens, diskLowBytes, clock } = this.#settings
    const { epoch, starts: restarts } = log.recovery
    const registry = new WorkerRegistry()
    const history = this.#readHistory()
    const disk = new DiskWatch(() => log.freeBytes(), diskLowBytes, observer)
    this.#disk = disk
    const checkpointer = this.#keepCheckpoints(log)
    this.#checkpointer = checkpointer
    await watch.measure('checkpointMs', async () => checkpointer?.makeAtStart(state))
    const latestKnownMs = Math.max(log.recovery.latestClockMs, position(state).lastAt)
    const time = new DecisionTime(clock, latestKnownMs)
    this.#warnOfTime(latestKnownMs)
    const coordinator = new Coordinator({
      ...{ state, log, clock, time, registry, knobs, history },
      ...{ epoch, restarts, connections: () => this.#peers?.size ?? 0 },
      disk: () => ({ isFull: this.#isDiskFull, freeBytes: disk.freeBytes }),
      waitingPollsMax: limits.waitingPollsMax,
      ...(checkpointer && { checkpoint: () => checkpointer.make() }),
      answerBytesMax: Math.floor(limits.frameBytesMax / 2),
      observer: observeBoth(this.#metrics.ofCoordinator, observer),
      onFailure: (error) => this.#fail(error),
    })
    this.#coordinator = coordinator
    await watch.measure('expiryMs', () => coordinator.start())
    const context: PeerContext = {
      ...{ coordinator, limits, gate: new Gate(tokens), welcome: this.#welcome(log) },
      now: () => clock.monotonicMs(),
      soon: (callback) => clock.soon(callback),
      onViolation: (address, reason, message) => observer.refused?.({ address, reason, message }),
    }
    const peers = new Peers(context, limits, this.#openFiles.refused)
    this.#peers = peers
    await disk.look()
    // The last thing that can fail: a start that comes to nothing is not counted.
    await log.markStarted()
    const recovery = watch.times
    this.#metrics.measure({
      ...{ state, time, epoch, restarts, recovery, log },
      freeBytes: () => disk.freeBytes,
      connections: () => peers.size,
      waitingPolls: () => coordinator.waitingPolls,
    })
    this.#health = { isReady: true, ...recovery }
    this.#early?.open((socket) => peers.accept(socket))
    checkpointer?.tend()
    this.#maintain()
    return recovery
  }

  #readHistory(): HistoryReader {
    const { dataDir, clock, historyReader } = this.#settings
    if (historyReader !== undefined) return historyReader
    this.#history = new HistoryThread(dataDir, clock)
    return this.#history
  }

  #limits(): ServerLimits {
    const { limits, observer } = this.#settings
    const { connections } = this.#openFiles
    if (limits.connectionsMax <= connections) return limits
    observer.fewerConnections?.(connections)
    return { ...limits, connectionsMax: connections }
  }

  /** A thread sees the machine's disk and no other. */
  #keepCheckpoints(log: Log): Checkpointer | undefined {
    const { dataDir, checkpoints, observer, clock, checkpointMaker } = this.#settings
    const isOfMachine = this.#settings.log.disk === undefined
    const maker = checkpointMaker ?? (isOfMachine ? new CheckpointThread(dataDir) : undefined)
    if (maker === undefined) return undefined
    return new Checkpointer({
      ...{ log, clock, maker, knobs: checkpoints },
      isDiskFull: () => this.#isDiskFull,
      observer: observeCheckpointsTwice(this.#metrics.ofCheckpoints, observer),
    })
  }

  /** `semantics` §1: leases and delays end by this clock, so one that has leapt should be noticed. */
  #warnOfTime(latestKnownMs: number): void {
    const { clock, observer } = this.#settings
    const aheadMs = clock.now() - latestKnownMs
    if (latestKnownMs > 0 && aheadMs > dayMs) observer.clockAhead?.(aheadMs)
    if (-aheadMs >= clockBehindMinMs) observer.clockBehind?.(-aheadMs)
  }

  #welcome(log: Log): Welcome {
    const { knobs, limits } = this.#settings
    return {
      version: protocolVersion,
      epoch: log.recovery.epoch,
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
    }
  }

  #maintain(): void {
    this.#maintenance = this.#settings.clock.setTimer(
      maintenanceMs,
      () => {
        this.#peers?.checkTime()
        this.#coordinator?.tidy()
        this.#checkpointer?.tend()
        void this.#disk?.look()
        this.#maintain()
      },
      'background',
    )
  }

  async #stop(): Promise<void> {
    await this.#shutDown()
    this.#end(this.#failure)
  }

  /** Nothing can be decided any more: every request that waits is answered by the connection's end. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#peers?.destroy()
    this.#settings.observer.failed?.(error)
    this.stop().catch(() => {})
  }

  /** Every step is tried, whatever became of the one before. */
  async #shutDown(): Promise<void> {
    this.#health = { isReady: false }
    this.#maintenance?.cancel()
    this.#early?.close()
    const listening = this.#listener?.close()
    // A batch that waits for room on the disk would wait for ever; closing the log ends it.
    await this.#within(
      stopMs,
      this.#coordinator?.stop().catch(() => {}),
    )
    this.#peers?.end()
    await this.#within(stopMs, listening)
    this.#peers?.destroy()
    await this.#checkpointer?.stop()
    const closed = await Promise.allSettled([
      ...[this.#log?.close(), this.#http?.close(), listening, this.#history?.close()],
    ])
    const failed = closed.find((outcome) => outcome.status === 'rejected')
    this.#failure ??= failed?.reason
  }

  /** Waits for the work, but no longer than that. */
  async #within(ms: number, work: Promise<unknown> | undefined): Promise<void> {
    let timer: Timer | undefined
    const tooLong = new Promise<void>((resolve) => {
      timer = this.#settings.clock.setTimer(ms, resolve)
    })
    await Promise.race([work, tooLong])
    timer?.cancel()
  }
}
