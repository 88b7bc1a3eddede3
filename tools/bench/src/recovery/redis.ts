import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { ask } from '../servers/ask.js'
import type { Held, RecoveryCase } from './case.js'

const queueName = 'bench'
const payloadBytes = 100
const jobsAtOnce = 1000
const lookEveryMs = 100

/**
 * With BullMQ's jobs in its append-only file, synced every second: as it was written, and rewritten,
 * which is its checkpoint. By itself Redis does that whenever the file has doubled, so that a
 * restart lies somewhere between the two.
 */
export function redisCases(jobs: number): RecoveryCase[] {
  const common = {
    system: 'redis',
    program: 'redis-server',
    args: ({ directory, port }) => [
      ...['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory],
      ...['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec'],
      ...['--auto-aof-rewrite-percentage', '0'],
    ],
    answers: async (port) => (await ask(port, 'PING\r\n', /\r\n$/)) === '+PONG\r\n',
    countTasks: async ({ port }) => {
      const answer = await ask(port, `LLEN bull:${queueName}:wait\r\n`, /\r\n$/)
      return Number(answer.slice(1))
    },
  } satisfies Partial<RecoveryCase>
  return [
    {
      ...common,
      name: 'BullMQ jobs, file as written',
      fill: ({ port }) => addJobs(port, jobs),
    },
    {
      ...common,
      name: 'BullMQ jobs, file rewritten',
      fill: async ({ port }) => {
        const held = await addJobs(port, jobs)
        await rewrite(port)
        return held
      },
    },
  ]
}

async function addJobs(port: number, jobs: number): Promise<Held> {
  const queue = new Queue(queueName, { connection: { host: '127.0.0.1', port } })
  const data = { payload: 'x'.repeat(payloadBytes) }
  try {
    for (let added = 0; added < jobs; added += jobsAtOnce) {
      const length = Math.min(jobsAtOnce, jobs - added)
      await queue.addBulk(Array.from({ length }, () => ({ name: 'task', data })))
    }
  } finally {
    await queue.close()
  }
  return { liveTasks: jobs, records: jobs }
}

async function rewrite(port: number): Promise<void> {
  await ask(port, 'BGREWRITEAOF\r\n', /\r\n$/)
  for (;;) {
    const info = await ask(port, 'INFO persistence\r\n', /\r\n\r\n$/)
    if (/^aof_rewrite_(scheduled|in_progress):1\r$/m.test(info)) {
      await pause(lookEveryMs)
      continue
    }
    if (/^aof_last_bgrewrite_status:ok\r$/m.test(info)) return
    throw new Error(`redis-server could not rewrite its file:\n${info}`)
  }
}
