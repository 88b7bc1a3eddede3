import type { CoordinatorOptions } from '@tenure/coordinator-server'
import { backoffOf } from '@tenure/options'
import { readCertificates, readTokens } from './credentials.js'
import type { Configuration, Values } from './settings.js'

/** Converts the configuration into the coordinator's options. Reads token and certificate files. */
export function toOptions(configuration: Configuration): CoordinatorOptions {
  const { values } = configuration
  const tls = readCertificates(configuration)
  return {
    dataDir: values.dataDir,
    host: values.host,
    port: values.port,
    httpHost: values.httpHost,
    httpPort: values.httpPort === 'off' ? false : values.httpPort,
    httpAllowedHosts: values.httpAllowedHosts ?? [],
    insecure: values.insecure,
    tokens: readTokens(configuration),
    tls,
    knobs: {
      leaseDurationMs: values.leaseDuration,
      heartbeatIntervalMs: values.heartbeatInterval ?? Math.floor(values.leaseDuration / 3),
      executionWindowMs: values.executionWindow,
      retryPolicy: { maxRetries: values.maxRetries, backoff: retryBackoffOf(values) },
      poisonThreshold: values.poisonThreshold,
      payloadBytesMax: values.payloadBytesMax,
      resultBytesMax: values.resultBytesMax,
      waitingTasksMax: values.waitingTasksMax,
      tasksBytesMax: values.tasksBytesMax,
      retentionMs: values.retention,
      retentionTasks: values.retentionTasks,
      waitMsMax: values.waitMax,
    },
    diskLowBytes: values.diskLowBytes,
    checkpoints: {
      replayMsMax: values.replayMax,
      historyMs: values.historyAge,
      historyBytesMax: values.historyBytesMax,
    },
    limits: {
      connectionsMax: values.connectionsMax,
      connectionsPerAddressMax: values.connectionsPerAddressMax,
      requestsInFlightMax: values.requestsInFlightMax,
      pollsPerConnectionMax: values.pollsPerConnectionMax,
      waitingPollsMax: values.waitingPollsMax,
      frameBytesMax: values.frameBytesMax,
      handshakeMs: values.handshakeTimeout,
      frameMs: values.frameTimeout,
      unsentBytesMax: values.unsentBytesMax,
      slowReaderMs: values.slowReaderTimeout,
    },
    log: logOf(values),
  }
}

function retryBackoffOf({ backoff, backoffDelay, backoffMax }: Values) {
  return backoffOf(backoffDelay, backoff === 'exponential' ? backoffMax : undefined)
}

function logOf({ sync, syncInterval, segmentBytes, acceptLoss, restored }: Values) {
  return {
    sync,
    syncIntervalMs: syncInterval,
    segmentBytes,
    acceptLoss,
    restored: typeof restored === 'number' ? { nextLsn: restored } : restored,
  }
}
