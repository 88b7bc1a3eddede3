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

// The one table: what can be set, what it means, what it may be, and what it is otherwise. Flags,
// variables, the keys of the file, the help and the checks all follow from it.

const storage = {
  dataDir: setting(text('directory'), {
    fallback: './tenure-data',
    help: 'Where the log is kept. Made when it does not exist.',
  }),
  sync: setting(choice('always', 'interval', 'none'), {
    fallback: 'always',
    help: 'When something is answered: "always", when it is on the disk. With "interval" and "none", when the operating system has it; a power loss takes what was not synced yet, though it was answered.',
    option: 'options.sync',
  }),
  syncInterval: setting(duration(1, 60_000), {
    fallback: 100,
    help: 'How often to sync, with --sync interval.',
    option: 'options.syncIntervalMs',
  }),
  segmentBytes: setting(bytes(2 ** 20, 2 ** 32), {
    fallback: 64 * 2 ** 20,
    help: 'The full size of a file of the log.',
    option: 'options.segmentBytes',
  }),
  diskLowBytes: setting(bytes(0, 2 ** 50), {
    fallback: 2 ** 30,
    help: 'With less room on the disk than this a warning is logged. Submissions are refused only when it is full.',
    option: 'diskLowBytes',
  }),
  acceptLoss: setting(logPlace('the refusal'), {
    help: 'Opens a damaged log without what lies behind this place. The refusal to open it names the place.',
    option: 'options.acceptLoss',
  }),
  restored: setting(trueOrLsn(), {
    help: 'For the first start on a copy from a backup: goes on behind every LSN that can have been given out since, or at this one.',
    option: 'options.restored',
  }),
}

const listening = {
  host: setting(text('address'), {
    fallback: '127.0.0.1',
    help: 'Where clients and workers connect. Beyond this machine only with TLS and tokens, or with --insecure.',
  }),
  port: setting(whole(0, 65_535), {
    fallback: 7411,
    help: 'The port for them; 0 takes a free one.',
  }),
  httpHost: setting(text('address'), {
    fallback: '127.0.0.1',
    help: 'Where /metrics, /healthz and /readyz are served. They ask for no token.',
  }),
  httpPort: setting(portOrOff(), {
    fallback: 7412,
    help: 'The port for them; 0 takes a free one, "off" serves none.',
    option: 'httpPort',
  }),
  httpAllowedHosts: setting(listOf(hostName()), {
    help: 'Additional host names that the HTTP port accepts, besides --http-host, localhost and IP addresses. Requests for other names are rejected with 421 (DNS rebinding).',
    option: 'httpAllowedHosts',
  }),
}

const security = {
  tlsCert: setting(text('file'), { help: 'The certificate, with its chain (PEM). Turns TLS on.' }),
  tlsKey: setting(text('file'), {
    help: 'The key of the certificate (PEM).',
    isSecretFile: true,
  }),
  tlsClientCa: setting(text('file'), {
    help: 'Who connects needs a certificate from this authority (PEM).',
  }),
  token: setting(secret(), {
    help: 'A token that grants every role. Or put it into a file: --token-file. Not together with --tokens-file.',
  }),
  tokenFile: setting(text('file'), { help: 'A file that holds this token.', isSecretFile: true }),
  tokensFile: setting(text('file'), {
    help: 'A JSON file with tokens for each role: { "produce": ["…"], "work": ["…"], "admin": ["…"] }. A token may stand under several.',
    isSecretFile: true,
  }),
  insecure: setting(yesOrNo(), {
    fallback: false,
    help: 'Listens beyond this machine also without TLS or tokens: whoever can connect may do everything, or read along.',
  }),
}

const leases = {
  leaseDuration: setting(duration(...knobRanges.leaseDurationMs), {
    fallback: defaultKnobs.leaseDurationMs,
    help: 'How long a worker owns a task without a heartbeat.',
    option: 'knobs.leaseDurationMs',
  }),
  heartbeatInterval: setting(duration(...knobRanges.heartbeatIntervalMs), {
    help: 'How often a worker is asked to send one; at most half of --lease-duration, and a third of it where this is not set.',
    option: 'knobs.heartbeatIntervalMs',
  }),
  executionWindow: setting(duration(...knobRanges.executionWindowMs), {
    fallback: defaultKnobs.executionWindowMs,
    help: 'How long an attempt may take at most, for tasks that are submitted without their own.',
    option: 'knobs.executionWindowMs',
  }),
  waitMax: setting(duration(...knobRanges.waitMsMax), {
    fallback: defaultKnobs.waitMsMax,
    help: 'The longest that a worker may wait for a task in one request.',
    option: 'knobs.waitMsMax',
  }),
}

const retries = {
  maxRetries: setting(whole(...retryRanges.maxRetries), {
    fallback: defaultRetryPolicy.maxRetries,
    help: 'How often a task that failed is tried again, unless it was submitted with its own policy.',
    option: 'knobs.retryPolicy.maxRetries',
  }),
  backoff: setting(choice('fixed', 'exponential'), {
    fallback: defaultRetryPolicy.backoff.kind,
    help: 'Whether the delay before a retry stays the same or doubles each time.',
  }),
  backoffDelay: setting(duration(...retryRanges.delayMs), {
    fallback: defaultRetryPolicy.backoff.delayMs,
    help: 'The delay before the first retry.',
  }),
  backoffMax: setting(duration(...retryRanges.delayMs), {
    fallback: defaultBackoffMaxMs,
    help: 'The longest delay, with --backoff exponential.',
  }),
  poisonThreshold: setting(whole(...knobRanges.poisonThreshold), {
    fallback: defaultKnobs.poisonThreshold,
    help: 'After so many leases in a row that expired a task is stopped; 0 is never.',
    option: 'knobs.poisonThreshold',
  }),
}

const room = {
  payloadBytesMax: setting(bytes(...knobRanges.payloadBytesMax), {
    fallback: defaultKnobs.payloadBytesMax,
    help: 'The largest payload of a task.',
    option: 'knobs.payloadBytesMax',
  }),
  resultBytesMax: setting(bytes(...knobRanges.resultBytesMax), {
    fallback: defaultKnobs.resultBytesMax,
    help: 'The largest result of a task.',
    option: 'knobs.resultBytesMax',
  }),
  waitingTasksMax: setting(whole(...knobRanges.waitingTasksMax), {
    fallback: defaultKnobs.waitingTasksMax,
    help: 'With so many tasks waiting, submissions are refused as OVERLOADED.',
    option: 'knobs.waitingTasksMax',
  }),
  tasksBytesMax: setting(bytes(...knobRanges.tasksBytesMax), {
    fallback: defaultKnobs.tasksBytesMax,
    help: 'The same for the bytes of all tasks in memory.',
    option: 'knobs.tasksBytesMax',
  }),
  retention: setting(duration(...knobRanges.retentionMs), {
    fallback: defaultKnobs.retentionMs,
    help: 'How long tasks that ended are remembered,',
    option: 'knobs.retentionMs',
  }),
  retentionTasks: setting(whole(...knobRanges.retentionTasks), {
    fallback: defaultKnobs.retentionTasks,
    help: 'and how many of them at most.',
    option: 'knobs.retentionTasks',
  }),
}

const recovery = {
  replayMax: setting(duration(...checkpointRanges.replayMsMax), {
    fallback: defaultCheckpointKnobs.replayMsMax,
    help: 'How long a restart may have to replay what lies behind the newest checkpoint. Checkpoints are made as often as that needs, in a thread.',
    option: 'checkpoints.replayMsMax',
  }),
  historyAge: setting(duration(...checkpointRanges.historyMs), {
    fallback: defaultCheckpointKnobs.historyMs,
    help: 'How long the log is kept for those who ask what happened, beyond what a restart needs,',
    option: 'checkpoints.historyMs',
  }),
  historyBytesMax: setting(bytes(...checkpointRanges.historyBytesMax), {
    fallback: defaultCheckpointKnobs.historyBytesMax,
    help: 'and to which size. What a restart needs is kept in any case.',
    option: 'checkpoints.historyBytesMax',
  }),
}

const limits = {
  connectionsMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.connectionsMax,
    help: 'How many connections there may be,',
    option: 'limits.connectionsMax',
  }),
  connectionsPerAddressMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.connectionsPerAddressMax,
    help: 'and how many from one address.',
    option: 'limits.connectionsPerAddressMax',
  }),
  requestsInFlightMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.requestsInFlightMax,
    help: 'Requests on a connection that are not answered yet; with more, its reading pauses.',
    option: 'limits.requestsInFlightMax',
  }),
  pollsPerConnectionMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.pollsPerConnectionMax,
    help: 'Lease requests on a connection that may wait, beside these; more are refused as TOO_MANY.',
    option: 'limits.pollsPerConnectionMax',
  }),
  waitingPollsMax: setting(whole(1, largestCount), {
    fallback: defaultLimits.waitingPollsMax,
    help: 'How many of them may wait at once, on all connections together.',
    option: 'limits.waitingPollsMax',
  }),
  frameBytesMax: setting(bytes(1, largestCount), {
    fallback: defaultLimits.frameBytesMax,
    help: 'The largest message; at least 64 KiB more than the largest payload or result.',
    option: 'limits.frameBytesMax',
  }),
  handshakeTimeout: setting(duration(1, largestCount), {
    fallback: defaultLimits.handshakeMs,
    help: 'Who has not said hello by then is disconnected.',
    option: 'limits.handshakeMs',
  }),
  frameTimeout: setting(duration(1, largestCount), {
    fallback: defaultLimits.frameMs,
    help: 'The same for a message that was begun.',
    option: 'limits.frameMs',
  }),
  unsentBytesMax: setting(bytes(65_536, largestCount), {
    fallback: defaultLimits.unsentBytesMax,
    help: 'With more answers than this to read, a peer is not asked for more;',
    option: 'limits.unsentBytesMax',
  }),
  deafTimeout: setting(duration(1, largestCount), {
    fallback: defaultLimits.deafMs,
    help: 'who takes nothing of them for so long is disconnected.',
    option: 'limits.deafMs',
  }),
}

/** By group, as the help shows them. */
export const settings = {
  ...configFileSettings,
  Storage: storage,
  Listening: listening,
  Security: security,
  Leases: leases,
  'Retries and poison': retries,
  'Room for tasks': room,
  'Restarts and history': recovery,
  'Limits for whoever connects': limits,
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
