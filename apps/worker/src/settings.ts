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

// The one table: flags, variables, the keys of the file, the help and the checks all follow from it.

const work = {
  handler: setting(text('file'), {
    help: 'A module whose default export runs the tasks. What it returns is the result, what it throws a failure.',
    option: 'options.handler',
  }),
  exec: setting(text('command'), {
    help: 'In its place: a command line for the shell. The payload is its standard input, its standard output the result; a code other than 0 is a failure, and the end of its standard error the reason. TENURE_TASK_ID, TENURE_TASK_QUEUE, TENURE_TASK_ATTEMPT, TENURE_TASK_LEASE_ID and TENURE_TASK_DEADLINE tell it about the task.',
  }),
  isolation: setting(choice(...isolations), {
    fallback: 'thread',
    help: 'Where the handler runs: in a thread or a process of its own for each task, where it can block nothing; or inline, for short handlers that only wait.',
    option: 'options.isolation',
  }),
  queues: setting(listOf(text('queue')), {
    fallback: ['default'],
    help: 'Whose tasks are run. Up to 16.',
    option: 'options.queues',
  }),
  concurrency: setting(whole(1, 10_000), {
    help: 'How many tasks run at once. Default: as many as there are processors.',
    option: 'options.concurrency',
  }),
  name: setting(text('name'), {
    help: 'Its leases are known under this name; no two workers may share one. Default: made of host and process.',
    option: 'options.name',
  }),
}

const times = {
  pollWait: setting(duration(1, longestMs), {
    fallback: 30_000,
    help: 'How long the coordinator is asked to wait for a task.',
    option: 'options.pollWaitMs',
  }),
  abortGrace: setting(duration(0, longestMs), {
    fallback: 5000,
    help: 'How long a handler that was told to end may take before it is terminated.',
    option: 'options.abortGraceMs',
  }),
  drainGrace: setting(duration(0, longestMs), {
    fallback: 30_000,
    help: 'How long handlers may run on when the worker stops.',
    option: 'options.drainGraceMs',
  }),
}

const failing = {
  giveUpAfter: setting(duration(1, longestMs), {
    help: 'Maximum time without a connection, or with every lease request rejected, before the worker exits with 1. Default: for ever.',
    option: 'options.giveUpAfterMs',
  }),
  keepGoing: setting(yesOrNo(), {
    fallback: false,
    help: 'Keep leasing tasks after a protocol error. Without it the worker drains and exits with 1.',
    option: 'options.keepGoing',
  }),
}

const observing = {
  httpHost: setting(text('address'), {
    fallback: '127.0.0.1',
    help: 'Where /metrics, /healthz and /readyz are served. They show no payload and ask for no token.',
  }),
  httpPort: setting(portOrOff(), { fallback: 7413, help: 'The same; 0 takes a free one.' }),
  httpAllowedHosts: setting(listOf(hostName()), {
    help: 'Additional host names that the HTTP port accepts, besides --http-host, localhost and IP addresses. Requests for other names are rejected with 421 (DNS rebinding).',
  }),
}

export const settings = {
  ...configFileSettings,
  Work: work,
  ...connectionSettings,
  Times: times,
  Failing: failing,
  Observing: observing,
  ...loggingSettings,
} as const

export type Configuration = ConfigurationOf<typeof settings>

/** What nobody else is called at the same time. */
export const ownName = (): string => `${hostname()}-${process.pid}`
