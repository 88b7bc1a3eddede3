import { connect } from 'node:net'
import { ask } from '../servers/ask.js'
import type { Held, RecoveryCase } from './case.js'

const payloadBytes = 100
const jobsAtOnce = 1000
const priority = 0
const delay = 0
const secondsToRun = 120

/** With its binlog, synced as it is by default: every 50 ms. */
export function beanstalkdCases(jobs: number): RecoveryCase[] {
  return [
    {
      system: 'beanstalkd',
      name: 'binlog',
      program: 'beanstalkd',
      args: ({ directory, port }) => ['-b', directory, '-l', '127.0.0.1', '-p', `${port}`],
      fill: ({ port }) => put(port, jobs),
      answers: async (port) => (await askStats(port)).startsWith('OK '),
      countTasks: async ({ port }) => {
        const [, ready] = /^current-jobs-ready: (\d+)$/m.exec(await askStats(port)) ?? []
        return Number(ready)
      },
    },
  ]
}

function askStats(port: number): Promise<string> {
  return ask(port, 'stats\r\n', /^(?!OK ).*\r\n$|\n\r\n$/)
}

/** One answer for each job, in order; a thousand are on their way. */
async function put(port: number, jobs: number): Promise<Held> {
  const payload = 'x'.repeat(payloadBytes)
  const job = `put ${priority} ${delay} ${secondsToRun} ${payloadBytes}\r\n${payload}\r\n`
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.write(job.repeat(jobsAtOnce))
  let sent = jobsAtOnce
  let answered = 0
  let rest = ''
  for await (const chunk of socket) {
    const lines = (rest + chunk).split('\r\n')
    rest = lines.pop() ?? ''
    const refused = lines.find((line) => !line.startsWith('INSERTED '))
    if (refused !== undefined) throw new Error(`beanstalkd says ${refused}`)
    answered += lines.length
    if (answered === jobs) break
    const more = Math.min(jobs - sent, jobsAtOnce - (sent - answered))
    socket.write(job.repeat(more))
    sent += more
  }
  return { liveTasks: answered, records: answered }
}
