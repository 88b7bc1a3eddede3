import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Logger, makeWorkerUtils, type Runner, run, type WorkerUtils } from 'graphile-worker'
import { isInstalled } from '../../is-installed.js'
import type { Place } from '../../server.js'
import { type Client, type Contender, payloadBytes } from '../contender.js'

const manifest = createRequire(import.meta.url)('graphile-worker/package.json') as {
  version: string
}
const debianPrograms = '/usr/lib/postgresql/15/bin'
const programs = isInstalled('postgres') ? '' : `${debianPrograms}/`
const user = process.getuid?.() === 0 ? (userOf('postgres') ?? userOf('nobody')) : undefined
const task = { identifier: 'task', payload: { payload: 'x'.repeat(payloadBytes) } }
const batchJobs = 1000
const batchesAtOnce = 4
/** As in its own performance test: https://worker.graphile.org/docs/performance */
const runnersMax = 4
const jobsAtOnceMax = 24
const batching = {
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
} satisfies GraphileConfig.WorkerOptions

/** Of what it says only what went wrong. */
const logger = new Logger(() => (level, message) => {
  if (level === 'error' || level === 'warning') console.error(`graphile-worker: ${message}`)
})

const graphileWorker: Contender = {
  system: 'graphile-worker',
  durability: 'before the answer',
  promise: 'an fsync of the write-ahead log before a commit is answered (synchronous_commit=on)',
  program: `${programs}postgres`,
  ...(user && { user }),
  // An immediate shutdown, which is a crash to whoever starts it again; no process and no memory is left.
  endSignal: 'SIGQUIT',
  prepare,
  args: ({ directory, port }) => [
    ...['-D', dataOf(directory), '-p', `${port}`, '-h', '127.0.0.1', '-k', ''],
    // By default a hundred, which clients and runners together would reach.
    ...['-c', 'max_connections=300'],
  ],
  // With its tables: they are made when they are missing.
  answers: async (port) => {
    await (await openTo(port, 1)).release()
    return true
  },
  version: () => {
    const postgres = execFileSync(`${programs}postgres`, ['--version'], { encoding: 'utf8' }).trim()
    return `${manifest.version}, ${postgres}`
  },
  open: async (port) => new GraphileClient(await openTo(port, 1)),
  fill,
  /**
   * A runner in place of each connection, up to as many as its documentation has: a runner takes tasks for
   * all its handlers at once, and gets slower with more of both.
   */
  async consume(port, { connections, atOnce }, begun) {
    const runners = Math.min(connections, runnersMax)
    const jobsAtOnce = Math.min(Math.ceil((connections * atOnce) / runners), jobsAtOnceMax)
    const running = await Promise.all(
      Array.from({ length: runners }, () => startRunner(port, jobsAtOnce, begun)),
    )
    return { stop: () => Promise.all(running.map((runner) => runner.stop())) }
  },
}

export const postgresContenders: readonly Contender[] = [graphileWorker]

/** It refuses to run as root, and the other one has to reach the directory. */
async function prepare({ directory }: Place): Promise<void> {
  const data = dataOf(directory)
  mkdirSync(data, { mode: 0o700 })
  if (user !== undefined) {
    chownSync(data, user.uid, user.gid)
    chmodSync(directory, 0o711)
    chmodSync(dirname(directory), 0o711)
  }
  const settings = ['-D', data, '-U', 'postgres', '--auth', 'trust', '--locale', 'C', '-E', 'UTF8']
  execFileSync(`${programs}initdb`, settings, { ...user, stdio: ['ignore', 'ignore', 'inherit'] })
}

function userOf(name: string): { readonly uid: number; readonly gid: number } | undefined {
  const line = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm')
  const [, uid, gid] = line.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

function dataOf(directory: string): string {
  return join(directory, 'data')
}

function addressOf(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}

function openTo(port: number, maxPoolSize: number): Promise<WorkerUtils> {
  return makeWorkerUtils({ connectionString: addressOf(port), maxPoolSize, logger })
}

function startRunner(port: number, concurrentJobs: number, begun: () => void): Promise<Runner> {
  return run({
    connectionString: addressOf(port),
    taskList: { [task.identifier]: begun },
    noHandleSignals: true,
    parsedCronItems: [],
    logger,
    preset: { worker: { concurrentJobs, maxPoolSize: concurrentJobs + 1, ...batching } },
  })
}

async function fill(port: number, tasks: number): Promise<void> {
  const utils = await openTo(port, batchesAtOnce)
  let left = tasks
  const addBatches = async () => {
    while (left > 0) {
      const length = Math.min(batchJobs, left)
      left -= length
      await utils.addJobs(Array.from({ length }, () => task))
    }
  }
  await Promise.all(Array.from({ length: batchesAtOnce }, addBatches))
  await utils.release()
}

class GraphileClient implements Client {
  readonly #utils: WorkerUtils

  constructor(utils: WorkerUtils) {
    this.#utils = utils
  }

  submit(): Promise<unknown> {
    return this.#utils.addJob(task.identifier, task.payload)
  }

  async close(): Promise<void> {
    await this.#utils.release()
  }
}
