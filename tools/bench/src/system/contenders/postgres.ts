import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { Logger, makeWorkerUtils, run, type WorkerEvents, type WorkerUtils } from 'graphile-worker'
import { type Client, type Contender, payloadBytes } from '../contender.js'
import { addressOf, postgresql } from './postgresql.js'

const manifest = createRequire(import.meta.url)('graphile-worker/package.json') as {
  version: string
}
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

/** The worker logs its errors and retries forever, so this logger ends the process instead. */
const logger = new Logger(() => (level, message) => {
  if (level !== 'error') return
  setImmediate(() => {
    throw new Error(`graphile-worker: ${message}`)
  })
})

const graphileWorker: Contender = {
  ...postgresql,
  system: 'graphile-worker',
  durability: 'before the answer',
  promise: 'an fsync of the write-ahead log before a commit is answered (synchronous_commit=on)',
  // Also creates the missing tables.
  answers: async (port) => {
    await (await openTo(port, 1)).release()
    return true
  },
  version: () => `${manifest.version}, ${postgresql.version()}`,
  open: async (port) => new GraphileClient(await openTo(port, 1)),
  fill,
  /**
   * One runner for each connection, up to the number in its documentation. A runner takes tasks for
   * all its handlers together, and gets slower with more runners and more handlers.
   */
  async consume(port, { connections, atOnce }, begun) {
    const runners = Math.min(connections, runnersMax)
    const jobsAtOnce = Math.min(Math.ceil((connections * atOnce) / runners), jobsAtOnceMax)
    const stops = await Promise.all(
      Array.from({ length: runners }, () => startRunner(port, jobsAtOnce, begun)),
    )
    return { stop: () => Promise.all(stops.map((stop) => stop())) }
  },
}

export const postgresContenders: readonly Contender[] = [graphileWorker]

function openTo(port: number, maxPoolSize: number): Promise<WorkerUtils> {
  return makeWorkerUtils({ connectionString: addressOf(port), maxPoolSize, logger })
}

async function startRunner(
  port: number,
  concurrentJobs: number,
  begun: () => void,
): Promise<() => Promise<void>> {
  const events: WorkerEvents = new EventEmitter()
  let isHolding = false
  let tellEmpty = () => {}
  events.on('localQueue:setMode', ({ newMode }) => {
    isHolding = newMode === 'WAITING'
    if (!isHolding) tellEmpty()
  })
  const runner = await run({
    connectionString: addressOf(port),
    logger,
    events,
    taskList: { [task.identifier]: begun },
    noHandleSignals: true,
    parsedCronItems: [],
    preset: { worker: { concurrentJobs, maxPoolSize: concurrentJobs + 1, ...batching } },
  })
  return async () => {
    const empty = new Promise<void>((resolve) => {
      tellEmpty = resolve
    })
    // With tasks in its local queue it does not stop: 0.17.3 fails to return them.
    if (isHolding) await empty
    await runner.stop()
  }
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
