import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../servers/ask.js'
import type { Place } from '../servers/server.js'
import { bullmq, queueName } from '../system/contenders/bullmq.js'
import type { RecoveryCase } from './case.js'

const lookEveryMs = 100

/**
 * BullMQ's jobs in Redis' append-only file, synced every second: once as written, and once
 * rewritten, which is Redis' checkpoint. By default Redis rewrites the file whenever it has
 * doubled, so a real restart takes a time between these two.
 */
export function redisCases(jobs: number): RecoveryCase[] {
  const server = bullmq('everysec', 'soon after', 'an fsync every second')
  const fill = async ({ port }: Place) => {
    await server.fill(port, jobs)
    return { liveTasks: jobs, records: jobs }
  }
  const common = {
    ...server,
    system: 'redis',
    args: (place: Place) => [...server.args(place), '--auto-aof-rewrite-percentage', '0'],
    async countTasks({ port }: Place) {
      const answer = await ask(port, `LLEN bull:${queueName}:wait\r\n`, /\r\n$/)
      return Number(answer.slice(1))
    },
  }
  return [
    { ...common, name: 'BullMQ jobs, file as written', fill },
    {
      ...common,
      name: 'BullMQ jobs, file rewritten',
      async fill(place: Place) {
        const held = await fill(place)
        await rewrite(place.port)
        return held
      },
    },
  ]
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
