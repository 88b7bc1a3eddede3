import { hostname } from 'node:os'
import {
  type Configuration as ConfigurationOf,
  choice,
  configFileSettings,
  connectionSettings,
  duration,
  hostName,
  listOf,
  loggingSettings,
  portOrOff,
  setting,
  text,
  whole,
  yesOrNo,
} from '@tenure/app-kit'
import { longestMs } from '@tenure/options'
import { isolations } from '@tenure/worker-runtime'

// The single source for flags, variables, keys of the configuration file, help and checks.

const work = {
  handler: setting(text('file'), {
    help: 'Module whose default export runs each task. Its return value is the result; an error that it throws is a failure. Exclusive with --exec.',
    option: 'options.handler',
  }),
  exec: setting(text('command'), {
    help: 'Shell command line that runs each task. Standard input is the payload and standard output the result. An exit code other than 0 is a failure, with the end of standard error as the reason. TENURE_TASK_ID, TENURE_TASK_QUEUE, TENURE_TASK_ATTEMPT, TENURE_TASK_LEASE_ID and TENURE_TASK_DEADLINE describe the task. Exclusive with --handler.',
  }),
  isolation: setting(choice(...isolations), {
    fallback: 'thread',
    help: 'Where the handler runs: in one thread or one process per task, where it cannot block heartbeats; or inline, for short asynchronous handlers.',
    option: 'options.isolation',
  }),
  queues: setting(listOf(text('queue')), {
    fallback: ['default'],
    help: 'Queues to lease tasks from, at most 16.',
    option: 'options.queues',
  }),
  concurrency: setting(whole(1, 10_000), {
    help: 'Maximum number of tasks that run concurrently. Default: the number of processors.',
    option: 'options.concurrency',
  }),
  name: setting(text('name'), {
    help: 'Name of this worker in leases; must be unique. Default: host name and process id.',
    option: 'options.name',
  }),
}

const timeouts = {
  pollWait: setting(duration(1, longestMs), {
    fallback: 30_000,
    help: 'Maximum time a lease request waits at the coordinator for a task.',
    option: 'options.pollWaitMs',
  }),
  abortGrace: setting(duration(0, longestMs), {
    fallback: 5000,
    help: 'Time an aborted handler has to end before it is terminated.',
    option: 'options.abortGraceMs',
  }),
  drainGrace: setting(duration(0, longestMs), {
    fallback: 30_000,
    help: 'Time running handlers have to finish when the worker stops; they are aborted afterwards.',
    option: 'options.drainGraceMs',
  }),
}

const failures = {
  giveUpAfter: setting(duration(1, longestMs), {
    help: 'Maximum time without a connection, or with every lease request rejected, before the worker exits with 1. Default: never.',
    option: 'options.giveUpAfterMs',
  }),
  keepGoing: setting(yesOrNo(), {
    fallback: false,
    help: 'Continue after a rejection that should not happen in normal operation (for example UNKNOWN_LEASE after a restore). Without this flag, the worker drains and exits with 1.',
    option: 'options.keepGoing',
  }),
}

const http = {
  httpHost: setting(text('address'), {
    fallback: '127.0.0.1',
    help: 'Address that serves /metrics, /healthz and /readyz. These pages show no payloads and need no token.',
  }),
  httpPort: setting(portOrOff(), {
    fallback: 7413,
    help: 'Port that serves /metrics, /healthz and /readyz; 0 picks a free port, off disables it.',
  }),
  httpAllowedHosts: setting(listOf(hostName()), {
    help: 'Additional host names that the HTTP port accepts, besides --http-host, localhost and IP addresses. A request whose Host header has another name is answered with status 421, which protects against DNS rebinding.',
  }),
}

export const settings = {
  ...configFileSettings,
  Work: work,
  ...connectionSettings,
  Timeouts: timeouts,
  Failures: failures,
  HTTP: http,
  ...loggingSettings,
} as const

export type Configuration = ConfigurationOf<typeof settings>

/** Unique among the workers that run at the same time on differently named hosts. */
export const ownName = (): string => `${hostname()}-${process.pid}`
