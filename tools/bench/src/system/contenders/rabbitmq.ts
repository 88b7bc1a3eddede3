import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ChannelModel, type ConfirmChannel, connect } from 'amqplib'
import type { Place } from '../../servers/server.js'
import { freePort } from '../../servers/server.js'
import { type Client, type Contender, fillThrough, payloadBytes } from '../contender.js'

/** The path of its package. The wrapper in PATH switches to another user and its home directory. */
const program = '/usr/lib/rabbitmq/bin/rabbitmq-server'
const queue = 'bench'
const payload = Buffer.alloc(payloadBytes, 'x')

const rabbitmq: Contender = {
  system: 'rabbitmq quorum',
  durability: 'before the answer',
  // "As quorum queues persist all data to disks before doing anything": its guide to quorum queues.
  promise: 'an fsync of the log of its quorum queues before the confirm',
  program,
  fillMax: 100_000,
  prepare,
  args: () => [],
  env: ({ directory }) => ({ RABBITMQ_CONF_ENV_FILE: environmentOf(directory) }),
  // Also creates the queue, which two clients must not create concurrently.
  answers: async (port) => {
    const connection = await openTo(port)
    const channel = await connection.createChannel()
    await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
    await connection.close()
    return true
  },
  version: () => /rabbitmq_server-([^/]+)/.exec(realpathSync(program))?.[1] ?? 'unknown',
  async open(port) {
    const connection = await openTo(port)
    return new RabbitmqClient(connection, await connection.createConfirmChannel())
  },
  fill: (port, tasks) => fillThrough(rabbitmq, port, tasks),
  async consume(port, { connections, atOnce }, begun) {
    const stops = await Promise.all(
      Array.from({ length: connections }, () => handle(port, atOnce, begun)),
    )
    return { stop: () => Promise.all(stops.map((stop) => stop())) }
  },
}

export const rabbitmqContenders: readonly Contender[] = [rabbitmq]

function environmentOf(directory: string): string {
  return join(directory, 'rabbitmq-env.conf')
}

/**
 * Keeps everything in the directory. The shell that reads this file becomes the server. RabbitMQ
 * needs the Erlang port mapper and would leave one running; this mapper is its own and ends with
 * it.
 */
async function prepare({ directory, port }: Place): Promise<void> {
  const mapperPort = await freePort()
  const settings = `
NODENAME=bench@localhost
NODE_IP_ADDRESS=127.0.0.1
NODE_PORT=${port}
DIST_PORT=${await freePort()}
MNESIA_BASE='${directory}/mnesia'
LOG_BASE='${directory}/log'
LOGS=-
ENABLED_PLUGINS_FILE='${directory}/enabled_plugins'
SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
SERVER_START_ARGS=-noinput
RABBITMQ_ALLOW_INPUT=1
export HOME='${directory}' ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT=${mapperPort}
if [ "$CONF_ENV_FILE_PHASE" = rabbitmq-env ]; then
  setpriv --pdeathsig KILL epmd -address 127.0.0.1 -port ${mapperPort} &
fi
`
  writeFileSync(environmentOf(directory), settings)
}

function openTo(port: number): Promise<ChannelModel> {
  return connect({ hostname: '127.0.0.1', port })
}

/** Acknowledges each task when its handler ends. RabbitMQ does not answer an acknowledgement. */
async function handle(
  port: number,
  atOnce: number,
  begun: () => void,
): Promise<() => Promise<unknown>> {
  const connection = await openTo(port)
  const channel = await connection.createChannel()
  await channel.prefetch(atOnce)
  const { consumerTag } = await channel.consume(queue, (message) => {
    if (message === null) throw new Error('rabbitmq has cancelled a consumer')
    begun()
    channel.ack(message)
  })
  return async () => {
    await channel.cancel(consumerTag)
    // The answer to `close` comes after all acknowledgements have arrived.
    await channel.close()
    await connection.close()
  }
}

class RabbitmqClient implements Client {
  readonly #connection: ChannelModel
  readonly #channel: ConfirmChannel

  constructor(connection: ChannelModel, channel: ConfirmChannel) {
    this.#connection = connection
    this.#channel = channel
  }

  submit(): Promise<unknown> {
    return new Promise<void>((resolve, reject) => {
      this.#channel.sendToQueue(queue, payload, { persistent: true }, (error: Error | null) => {
        if (error === null) resolve()
        else reject(error)
      })
    })
  }

  close(): Promise<unknown> {
    return this.#connection.close()
  }
}
