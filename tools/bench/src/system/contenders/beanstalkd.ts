import { execFileSync } from 'node:child_process'
import { ask } from '../../servers/ask.js'
import {
  type Client,
  type Contender,
  type Durability,
  fillThrough,
  payloadBytes,
} from '../contender.js'
import { TextConnection } from './text-connection.js'

const payload = 'x'.repeat(payloadBytes)
const secondsToRun = 600
const put = `put 0 0 ${secondsToRun} ${payloadBytes}\r\n${payload}\r\n`

export const beanstalkdContenders: readonly Contender[] = [
  {
    ...beanstalkd('-f0', 'before the answer', 'an fsync after every write to its binlog'),
    fillMax: 100_000,
  },
  beanstalkd('-F', 'unsynced', 'a binlog that is never synced'),
]

/** The server has one thread and answers in the order of the commands, so a client may pipeline. */
export function beanstalkd(flag: string, durability: Durability, promise: string): Contender {
  const contender: Contender = {
    system: `beanstalkd ${flag}`,
    durability,
    promise,
    program: 'beanstalkd',
    args: ({ directory, port }) => ['-l', '127.0.0.1', '-p', `${port}`, '-b', directory, flag],
    answers: async (port) => (await ask(port, 'stats\r\n', /\r\n$/)).startsWith('OK '),
    version: () => execFileSync('beanstalkd', ['-v'], { encoding: 'utf8' }).trim(),
    open: async (port) => new BeanstalkdClient(await TextConnection.open(port)),
    fill: (port, tasks) => fillThrough(contender, port, tasks),
    async consume(port, { connections, atOnce }, begun) {
      const clients = await Promise.all(
        Array.from({ length: connections * atOnce }, async () => {
          const connection = await TextConnection.open(port)
          void handleAll(connection, begun)
          return connection
        }),
      )
      return {
        stop: async () => {
          for (const client of clients) client.close()
        },
      }
    },
  }
  return contender
}

/**
 * A `reserve` that waits blocks later commands on its connection, so each handler has its own
 * connection.
 */
async function handleAll(connection: TextConnection, begun: () => void): Promise<void> {
  for (;;) {
    const answer = await connection.ask('reserve\r\n')
    if (answer === undefined) return
    begun()
    await connection.ask(`delete ${idOf(answer)}\r\n`)
  }
}

class BeanstalkdClient implements Client {
  readonly #connection: TextConnection
  readonly #held: string[] = []
  #turn = 0

  constructor(connection: TextConnection) {
    this.#connection = connection
  }

  async submit(): Promise<void> {
    await this.#ask(put, 'INSERTED ')
  }

  async process(): Promise<boolean> {
    const id = await this.#reserve()
    if (id === undefined) return false
    await this.#ask(`delete ${id}\r\n`, 'DELETED')
    return true
  }

  async hold(): Promise<void> {
    const id = await this.#reserve()
    if (id === undefined) throw new Error('beanstalkd has no job to hold')
    this.#held.push(id)
  }

  async heartbeat(): Promise<void> {
    await this.#ask(`touch ${this.#held[this.#turn++ % this.#held.length]}\r\n`, 'TOUCHED')
  }

  async close(): Promise<void> {
    this.#connection.close()
  }

  async #reserve(): Promise<string | undefined> {
    const answer = await this.#connection.ask('reserve-with-timeout 0\r\n')
    if (answer === 'TIMED_OUT') return undefined
    if (answer?.startsWith('RESERVED ')) return idOf(answer)
    throw new Error(`beanstalkd says ${answer}`)
  }

  async #ask(command: string, expected: string): Promise<void> {
    const answer = await this.#connection.ask(command)
    if (!answer?.startsWith(expected)) throw new Error(`beanstalkd says ${answer}`)
  }
}

/** Reads the id in `RESERVED <id> <bytes>`. */
function idOf(answer: string): string {
  return answer.slice(9, answer.indexOf(' ', 9))
}
