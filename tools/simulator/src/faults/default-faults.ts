import { editOf, type Fault, type NamedTest } from './fault.js'

const all: NamedTest = [
  'packages/coordinator-server/test/server.test.ts',
  'the README lists every default',
]
const ofLog: NamedTest = [
  'packages/wal/test/append.test.ts',
  'the defaults are those of the README',
]
const ofWorker: NamedTest = [
  'packages/worker-runtime/test/start.test.ts',
  'the defaults are those of the README',
]
const ofClient: NamedTest = [
  'packages/client/test/connection.test.ts',
  'the README lists every default',
]

const knobs = editOf('coordinator-server', 'decide/knobs')
const retries = editOf('options', 'retry-policy')
const server = editOf('coordinator-server', 'options/options')
const limits = editOf('coordinator-server', 'net/limits')
const checkpoints = editOf('coordinator-server', 'checkpoints/checkpoint-knobs')
const log = editOf('wal', 'options')
const worker = editOf('worker-runtime', 'options')
const client = editOf('client', 'link/options')

type Changed = readonly [test: NamedTest, edit: typeof knobs, old: string, bad: string]

/** The default, and the wrong one that replaces it. */
const changes: readonly Changed[] = [
  [all, knobs, 'leaseDurationMs: 30_000', 'leaseDurationMs: 300_000'],
  [all, knobs, 'heartbeatIntervalMs: 10_000', 'heartbeatIntervalMs: 1000'],
  [all, knobs, 'executionWindowMs: 3_600_000', 'executionWindowMs: 3_600'],
  [all, retries, 'maxRetries: 3', 'maxRetries: 0'],
  [all, retries, 'delayMs: 5000', 'delayMs: 0'],
  [all, knobs, 'poisonThreshold: 20', 'poisonThreshold: 0'],
  [all, knobs, 'payloadBytesMax: 256 * 1024', 'payloadBytesMax: 256 * 1000'],
  [all, knobs, 'resultBytesMax: 64 * 1024', 'resultBytesMax: 64 * 1000'],
  [all, knobs, 'waitingTasksMax: 5_000_000', 'waitingTasksMax: 500_000'],
  [all, knobs, 'tasksBytesMax: 2 * 2 ** 30', 'tasksBytesMax: 2 ** 30'],
  [all, knobs, 'retentionMs: 3_600_000', 'retentionMs: 0'],
  [all, knobs, 'retentionTasks: 1_000_000', 'retentionTasks: 10_000_000'],
  [all, knobs, 'waitMsMax: 60_000', 'waitMsMax: 6000'],
  [all, checkpoints, 'replayMsMax: 5000', 'replayMsMax: 50_000'],
  [all, checkpoints, 'historyMs: 7 *', 'historyMs: 1 *'],
  [all, checkpoints, 'historyBytesMax: 2 ** 30', 'historyBytesMax: 2 ** 31'],
  [all, limits, ' connectionsMax: 10_000', ' connectionsMax: 1000'],
  [all, limits, 'connectionsPerAddressMax: 10_000', 'connectionsPerAddressMax: 100'],
  [all, limits, 'requestsInFlightMax: 1024', 'requestsInFlightMax: 128'],
  [all, limits, 'pollsPerConnectionMax: 1024', 'pollsPerConnectionMax: 128'],
  [all, limits, 'waitingPollsMax: 100_000', 'waitingPollsMax: 1_000_000'],
  [all, limits, 'frameBytesMax: 1024 * 1024', 'frameBytesMax: 2048 * 1024'],
  [all, limits, 'handshakeMs: 10_000', 'handshakeMs: 100_000'],
  [all, limits, 'frameMs: 30_000', 'frameMs: 300_000'],
  [all, limits, 'unsentBytesMax: 1024 * 1024', 'unsentBytesMax: 2048 * 1024'],
  [all, limits, 'slowReaderMs: 10_000', 'slowReaderMs: 100_000'],
  [all, server, 'diskLowBytes = 2 ** 30', 'diskLowBytes = 0'],
  [all, server, 'port = 7411', 'port = 7413'],
  [all, server, 'httpPort = 7412', 'httpPort = false'],
  [all, server, "{ host = '127.0.0.1'", "{ host = '::1'"],
  [all, server, "httpHost = '127.0.0.1'", "httpHost = '::1'"],
  [ofLog, log, "copyOf ? 'interval' : 'always'", "copyOf ? 'always' : 'interval'"],
  [ofLog, log, 'options.syncIntervalMs ?? 100', 'options.syncIntervalMs ?? 1000'],
  [ofLog, log, 'options.segmentBytes ?? 64 *', 'options.segmentBytes ?? 32 *'],
  [ofLog, log, 'options.appendBytesMax ?? 512 *', 'options.appendBytesMax ?? 256 *'],
  [ofWorker, worker, "queues = ['default']", "queues = ['work']"],
  [ofWorker, worker, 'concurrency = availableParallelism()', 'concurrency = 1000'],
  [ofWorker, worker, 'pollWaitMs = 30_000', 'pollWaitMs = 3000'],
  [ofWorker, worker, 'abortGraceMs = 5000', 'abortGraceMs = 0'],
  [ofWorker, worker, 'drainGraceMs = 30_000', 'drainGraceMs = 3000'],
  [ofWorker, worker, 'clockDrift = 0.01', 'clockDrift = 0'],
  [ofWorker, worker, 'initialMs: 50, maxMs: 1000', 'initialMs: 50, maxMs: 10_000'],
  [ofClient, client, "role = 'produce'", "role = 'admin'"],
  [ofClient, client, 'connectTimeoutMs ?? 10_000', 'connectTimeoutMs ?? 1000'],
  [ofClient, client, 'attemptTimeoutMs ?? 3000', 'attemptTimeoutMs ?? 30_000'],
  [ofClient, client, 'requestTimeoutMs ?? 30_000', 'requestTimeoutMs ?? 3000'],
  [ofClient, client, 'keepAliveMs ?? 10_000', 'keepAliveMs ?? 100_000'],
  [ofClient, client, 'initialMs ?? 100', 'initialMs ?? 10'],
  [ofClient, editOf('client', 'connection/endpoint'), 'defaultPort = 7411', 'defaultPort = 7413'],
]

/** Defaults that differ from the documented ones. */
export const defaultFaults: readonly Fault[] = [
  ...changes.map(
    ([test, edit, old, bad]): Fault => ({
      name: `the default ${old} is ${bad}`,
      test,
      edits: edit(old, bad),
    }),
  ),
  {
    name: 'handlers run in processes by default',
    test: [ofWorker[0], 'without an isolation handlers run in threads'],
    edits: worker("isolation = 'thread'", "isolation = 'process'"),
  },
]
