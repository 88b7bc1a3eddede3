import { ask } from '../servers/ask.js'
import { beanstalkd } from '../system/contenders/beanstalkd.js'
import type { RecoveryCase } from './case.js'

/** beanstalkd with its binlog, which by default is synced every 50 ms. */
export function beanstalkdCases(jobs: number): RecoveryCase[] {
  const server = beanstalkd('-f50', 'soon after', 'an fsync of its binlog every 50 ms')
  return [
    {
      ...server,
      system: 'beanstalkd',
      name: 'binlog',
      async fill({ port }) {
        await server.fill(port, jobs)
        return { liveTasks: jobs, records: jobs }
      },
      async countTasks({ port }) {
        const stats = await ask(port, 'stats\r\n', /^(?!OK ).*\r\n$|\n\r\n$/)
        return Number(/^current-jobs-ready: (\d+)$/m.exec(stats)?.[1])
      },
    },
  ]
}
