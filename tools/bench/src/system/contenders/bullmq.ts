import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { type Job, Queue, Worker } from 'bullmq'
import { ask } from '../../servers/ask.js'
import { type Client, type Contender, type Durability, payloadBytes } from '../contender.js'

const manifest = createRequire(import.meta.url)('bullmq/package.json') as { version: string }
export const queueName = 'bench'
const job = { name: 'task', data: { payload: 'x'.repeat(payloadBytes) } }
/** Longer than any measurement, so that a held job is lost only if a heartbeat fails. */
const lockMs = 600_000
const token = 'bench'
const bulkJobs = 1000
const bulksAtOnce = 4

export const bullmqContenders: readonly Contender[] = [
  // "A single write and a single fsync (before sending the replies)": Redis' guide to persistence.
  bullmq('always', 'before the answer', 'an fsync of the append-only file before the replies'),
  bullmq('everysec', 'soon after', 'an fsync of the append-only file every second'),
]

export function bullmq(appendfsync: string, durability: Durability, promise: string): Contender {
  return {
    system: `bullmq ${appendfsync}`,
    durability,
    promise,
    program: 'redis-server',
    args: ({ directory, port }) => [
      ...['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory],
      ...['--save', '', '--appendonly', 'yes', '--appendfsync', appendfsync],
    ],
    answers: async (port) => (await ask(port, 'PING\r\n', /\r\n$/)) === '+PONG\r\n',
    version: () => {
      const [, redis] =
        /v=(\S+)/.exec(execFileSync('redis-server', ['-v'], { encoding: 'utf8' })) ?? []
      return `${manifest.version}, Redis ${redis}`
    },
    open: async (port) => new BullmqClient(port, await openQueue(port)),
    fill,
    async consume(port, { connections, atOnce }, begun) {
      const workers = Array.from({ length: connections }, () => {
        const worker = new Worker(queueName, async () => begun(), {
          connection: { port },
          concurrency: atOnce,
          // By default BullMQ keeps all completed jobs.
          removeOnComplete: { count: 0 },
        })
        return worker.on('error', fail)
      })
      await Promise.all(workers.map((worker) => worker.waitUntilReady()))
      return { stop: () => Promise.all(workers.map((worker) => worker.close())) }
    },
  }
}

async function openQueue(port: number): Promise<Queue> {
  const queue = new Queue(queueName, { connection: { port } }).on('error', fail)
  await queue.waitUntilReady()
  return queue
}

async function fill(port: number, tasks: number): Promise<void> {
  const queue = await openQueue(port)
  let left = tasks
  const addBulks = async () => {
    while (left > 0) {
      const length = Math.min(bulkJobs, left)
      left -= length
      await queue.addBulk(Array.from({ length }, () => job))
    }
  }
  await Promise.all(Array.from({ length: bulksAtOnce }, addBulks))
  await queue.close()
}

/**
 * BullMQ gives jobs to handlers. Jobs can also be taken singly, and their locks be extended by
 * hand.
 */
class BullmqClient implements Client {
  readonly #port: number
  readonly #queue: Queue
  #worker: Worker | undefined
  readonly #held: Job[] = []
  #turn = 0

  constructor(port: number, queue: Queue) {
    this.#port = port
    this.#queue = queue
  }

  submit(): Promise<unknown> {
    return this.#queue.add(job.name, job.data)
  }

  async hold(): Promise<void> {
    this.#worker ??= new Worker(queueName, null, {
      connection: { port: this.#port },
      autorun: false,
      lockDuration: lockMs,
    }).on('error', fail)
    const held: Job | undefined = await this.#worker.getNextJob(token, { block: false })
    if (held === undefined) throw new Error('bullmq has no job to hold')
    this.#held.push(held)
  }

  async heartbeat(): Promise<void> {
    const held = this.#held[this.#turn++ % this.#held.length]!
    const extended = await held.extendLock(token, lockMs)
    if (extended !== 1) throw new Error(`bullmq answers ${extended} to the extension of a lock`)
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#worker?.close()
  }
}

/**
 * BullMQ's emitter catches and prints thrown errors and retries forever, so this ends the process
 * instead.
 */
function fail(error: Error): void {
  setImmediate(() => {
    throw error
  })
}
