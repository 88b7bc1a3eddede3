import {
  bytes,
  type Configuration as ConfigurationOf,
  choice,
  configFileSettings,
  duration,
  hostName,
  type Kind,
  listOf,
  loggingSettings,
  logPlace,
  portOrOff,
  secret,
  setting,
  text,
  type ValuesOf,
  whole,
  yesOrNo,
} from '@tenure/app-kit'
import {
  checkpointRanges,
  defaultCheckpointKnobs,
  defaultKnobs,
  defaultLimits,
  knobRanges,
} from '@tenure/coordinator-server/internal'
import { defaultBackoffMaxMs, defaultRetryPolicy, largestCount, retryRanges } from '@tenure/options'

// All settings with their types, defaults and help. Flags, environment variables, config file keys, the
// help and the checks are derived from this table.

const storage = {
  dataDir: setting(text('directory'), {
    fallback: './tenure-data',
    help: 'Directory that holds the log; created if missing.',
  }),
  sync: setting(choice('always', 'interval', 'none'), {
    fallback: 'always',
    help: 'When to sync the log to disk. "always" syncs before every answer. With "interval" and "none", a power loss can undo answered requests that were not synced yet.',
    option: 'options.sync',
  }),
  syncInterval: setting(duration(1, 60_000), {
    fallback: 100,
    help: 'Sync interval for --sync interval.',
    option: 'options.syncIntervalMs',
  }),
  segmentBytes: setting(bytes(2 ** 20, 2 ** 32), {
    fallback: 64 * 2 ** 20,
    help: 'Size of a full log segment file.',
    option: 'options.segmentBytes',
  }),
  diskLowBytes: setting(bytes(0, 2 ** 50), {
    fallback: 2 ** 30,
    help: 'Log a warning when less disk space than this is free. Submissions are rejected only when the disk is full.',
    option: 'diskLowBytes',
  }),
  acceptLoss: setting(logPlace('the error'), {
    help: 'Open a damaged log without the records after this position, which the error message names. The records are moved to quarantine/.',
    option: 'options.acceptLoss',
  }),
  restored: setting(trueOrLsn(), {
    help: 'Only for a data directory copied by other means than tenure restore, and only for its first start. "true" skips all record numbers (LSNs) that the original may have used; a number is the next LSN.',
    option: 'options.restored',
  }),
}

const listening = {
  host: setting(text('address'), {
    fallback: '127.0.0.1',
    help: 'Address to listen on for clients and workers. An address other than loopback requires TLS and tokens, or --insecure.',
  }),
  port: setting(whole(0, 65_535), {
    fallback: 7411,
    help: 'Port for clients and workers; 0 picks a free port.',
  }),
  httpHost: setting(text('address'), {
    fallback: '127.0.0.1',
    help: 'Address for /metrics, /healthz and /readyz, which require no token. An address other than loopback requires --insecure.',
  }),
  httpPort: setting(portOrOff(), {
    fallback: 7412,
    help: 'Port for /metrics, /healthz and /readyz; 0 picks a free port, "off" disables it.',
    option: 'httpPort',
  }),
  httpAllowedHosts: setting(listOf(hostName()), {
    help: 'Additional host names that the HTTP port accepts, besides --http-host, localhost and IP addresses. A request whose Host header has another name is answered with status 421, which protects against DNS rebinding.',
    option: 'httpAllowedHosts',
  }),
}

const security = {
  tlsCert: setting(text('file'), { help: 'TLS certificate with its chain (PEM); enables TLS.' }),
  tlsKey: setting(text('file'), {
    help: 'Private key of the TLS certificate (PEM).',
    isSecretFile: true,
  }),
  tlsClientCa: setting(text('file'), {
    help: 'Require client certificates signed by this CA (PEM).',
  }),
  token: setting(secret(), {
    help: 'Token that grants every role. Cannot be combined with --token-file or --tokens-file.',
  }),
  tokenFile: setting(text('file'), {
    help: 'File that contains a token for every role.',
    isSecretFile: true,
  }),
  tokensFile: setting(text('file'), {
    help: 'JSON file with tokens per role: { "produce": ["…"], "work": ["…"], "admin": ["…"] }. A token may have several roles.',
    isSecretFile: true,
  }),
  insecure: setting(yesOrNo(), {
    fallback: false,
    help: 'Allow addresses other than loopback without TLS or tokens. Any client on the network can then use every role and read the traffic.',
  }),
}

const leases = {
  leaseDuration: setting(duration(...knobRanges.leaseDurationMs), {
    fallback: defaultKnobs.leaseDurationMs,
    help: 'How long a worker owns a task without sending a heartbeat.',
    option: 'knobs.leaseDurationMs',
  }),
  heartbeatInterval: setting(duration(...knobRanges.heartbeatIntervalMs), {
    help: 'Heartbeat interval for workers, at most half of --lease-duration (default: a third of it).',
    option: 'knobs.heartbeatIntervalMs',
  }),
  executionWindow: setting(duration(...knobRanges.executionWindowMs), {
    fallback: defaultKnobs.executionWindowMs,
    help: 'Maximum duration of one attempt, even with heartbeats. A task can be submitted with a window of its own.',
    option: 'knobs.executionWindowMs',
  }),
  waitMax: setting(duration(...knobRanges.waitMsMax), {
    fallback: defaultKnobs.waitMsMax,
    help: 'Maximum time that a lease request may wait for a task.',
    option: 'knobs.waitMsMax',
  }),
}

const retries = {
  maxRetries: setting(whole(...retryRanges.maxRetries), {
    fallback: defaultRetryPolicy.maxRetries,
    help: 'Maximum retries of a failed task. A task can be submitted with a retry policy of its own.',
    option: 'knobs.retryPolicy.maxRetries',
  }),
  backoff: setting(choice('fixed', 'exponential'), {
    fallback: defaultRetryPolicy.backoff.kind,
    help: 'Retry delays: constant, or doubled after each attempt.',
  }),
  backoffDelay: setting(duration(...retryRanges.delayMs), {
    fallback: defaultRetryPolicy.backoff.delayMs,
    help: 'Delay before the first retry.',
  }),
  backoffMax: setting(duration(...retryRanges.delayMs), {
    fallback: defaultBackoffMaxMs,
    help: 'Maximum retry delay with --backoff exponential.',
  }),
  poisonThreshold: setting(whole(...knobRanges.poisonThreshold), {
    fallback: defaultKnobs.poisonThreshold,
    help: 'Stop a task (DEAD) after this many consecutive lease expiries; 0 disables.',
    option: 'knobs.poisonThreshold',
  }),
}

const taskLimits = {
  payloadBytesMax: setting(bytes(...knobRanges.payloadBytesMax), {
    fallback: defaultKnobs.payloadBytesMax,
    help: 'Maximum payload size.',
    option: 'knobs.payloadBytesMax',
  }),
  resultBytesMax: setting(bytes(...knobRanges.resultBytesMax), {
    fallback: defaultKnobs.resultBytesMax,
    help: 'Maximum result size.',
    option: 'knobs.resultBytesMax',
  }),
  waitingTasksMax: setting(whole(...knobRanges.waitingTasksMax), {
    fallback: defaultKnobs.waitingTasksMax,
    help: 'Maximum number of waiting tasks; further submissions are rejected with OVERLOADED.',
    option: 'knobs.waitingTasksMax',
  }),
  tasksBytesMax: setting(bytes(...knobRanges.tasksBytesMax), {
    fallback: defaultKnobs.tasksBytesMax,
    help: 'Maximum memory for the payloads and results of all tasks, ended ones included; further submissions are rejected with OVERLOADED.',
    option: 'knobs.tasksBytesMax',
  }),
  retention: setting(duration(...knobRanges.retentionMs), {
    fallback: defaultKnobs.retentionMs,
    help: 'How long to remember ended tasks.',
    option: 'knobs.retentionMs',
  }),
  retentionTasks: setting(whole(...knobRanges.retentionTasks), {
    fallback: defaultKnobs.retentionTasks,
    help: 'Maximum number of ended tasks to remember.',
    option: 'knobs.retentionTasks',
  }),
}

const recovery = {
  replayMax: setting(duration(...checkpointRanges.replayMsMax), {
    fallback: defaultCheckpointKnobs.replayMsMax,
    help: 'Maximum time for a restart to replay the log; determines how often checkpoints are made.',
    option: 'checkpoints.replayMsMax',
  }),
  historyAge: setting(duration(...checkpointRanges.historyMs), {
    fallback: defaultCheckpointKnobs.historyMs,
    help: 'How long to keep history in the log. Records that a restart needs are always kept.',
    option: 'checkpoints.historyMs',
  }),
  historyBytesMax: setting(bytes(...checkpointRanges.historyBytesMax), {
    fallback: defaultCheckpointKnobs.historyBytesMax,
    help: 'Maximum size of the log with its history. Records that a restart needs are always kept.',
    option: 'checkpoints.historyBytesMax',
  }),
}

const connectionLimits = {
  connectionsMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.connectionsMax,
    help: 'Maximum number of connections.',
    option: 'limits.connectionsMax',
  }),
  connectionsPerAddressMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.connectionsPerAddressMax,
    help: 'Maximum number of connections from one address.',
    option: 'limits.connectionsPerAddressMax',
  }),
  requestsInFlightMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.requestsInFlightMax,
    help: 'Maximum number of unanswered requests per connection; at the limit, the coordinator stops reading from it.',
    option: 'limits.requestsInFlightMax',
  }),
  pollsPerConnectionMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.pollsPerConnectionMax,
    help: 'Maximum number of waiting lease requests per connection; further ones are rejected with TOO_MANY.',
    option: 'limits.pollsPerConnectionMax',
  }),
  waitingPollsMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.waitingPollsMax,
    help: 'Maximum number of waiting lease requests on all connections together.',
    option: 'limits.waitingPollsMax',
  }),
  frameBytesMax: setting(bytes(1, largestCount), {
    fallback: defaultLimits.frameBytesMax,
    help: 'Maximum message size; at least 64 KiB above the largest payload or result.',
    option: 'limits.frameBytesMax',
  }),
  handshakeTimeout: setting(duration(1, largestCount), {
    fallback: defaultLimits.handshakeMs,
    help: 'Time that a new connection has to send a valid hello, its first message.',
    option: 'limits.handshakeMs',
  }),
  frameTimeout: setting(duration(1, largestCount), {
    fallback: defaultLimits.frameMs,
    help: 'Time that a peer has to finish a message that it began to send.',
    option: 'limits.frameMs',
  }),
  unsentBytesMax: setting(bytes(65_536, largestCount), {
    fallback: defaultLimits.unsentBytesMax,
    help: 'Send buffer limit per connection; above it, the coordinator processes no further requests of that connection.',
    option: 'limits.unsentBytesMax',
  }),
  slowReaderTimeout: setting(duration(1, largestCount), {
    fallback: defaultLimits.slowReaderMs,
    help: 'Disconnect a peer that is over the send buffer limit and reads nothing for this long.',
    option: 'limits.slowReaderMs',
  }),
}

/** Grouped as in the help. */
export const settings = {
  ...configFileSettings,
  Storage: storage,
  Listening: listening,
  Security: security,
  Leases: leases,
  'Retries and poison': retries,
  'Task limits': taskLimits,
  'Restarts and history': recovery,
  'Connection limits': connectionLimits,
  ...loggingSettings,
} as const

export type Configuration = ConfigurationOf<typeof settings>
export type Values = ValuesOf<typeof settings>

function trueOrLsn(): Kind<true | number> {
  const lsn = whole(1, Number.MAX_SAFE_INTEGER)
  return {
    placeholder: '<true|lsn>',
    accepted: `true, or the next LSN: ${lsn.accepted}`,
    json: ['boolean', 'number', 'string'],
    parse: (given) => (given === 'true' ? true : lsn.parse(given)),
    format: String,
  }
}
