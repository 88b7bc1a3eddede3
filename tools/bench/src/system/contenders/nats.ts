import { execFileSync } from 'node:child_process'
import {
  AckPolicy,
  type JetStreamClient,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { type Client, type Contender, fillThrough, payloadBytes } from '../contender.js'

const stream = 'bench'
const subject = 'bench.task'
const workers = 'workers'
const payload = Buffer.alloc(payloadBytes, 'x')
const timeout = 60_000
const config = {
  name: stream,
  subjects: [subject],
  retention: RetentionPolicy.Workqueue,
  storage: StorageType.File,
}

/** Measured only with its default: `sync_interval: always` came with 2.10, and Debian ships 2.9. */
const nats: Contender = {
  system: 'nats',
  durability: 'soon after',
  promise: 'an fsync of its stream every 2 minutes, which is the default',
  program: 'nats-server',
  args: ({ directory, port }) => [
    ...['--addr', '127.0.0.1', '--port', `${port}`, '--jetstream', '--store_dir', directory],
  ],
  // Also creates the stream; creating one that exists changes nothing.
  answers: async (port) => {
    const connection = await openTo(port)
    try {
      await (await jetstreamManager(connection)).streams.add(config)
    } finally {
      await connection.close()
    }
    return true
  },
  version: () => execFileSync('nats-server', ['--version'], { encoding: 'utf8' }).trim(),
  open: async (port) => new NatsClient(await openTo(port)),
  fill: (port, tasks) => fillThrough(nats, port, tasks),
  async consume(port, { connections, atOnce }, begun) {
    const opened = await Promise.all(Array.from({ length: connections }, () => openTo(port)))
    const manager = await jetstreamManager(opened[0]!)
    await manager.consumers.add(stream, {
      durable_name: workers,
      ack_policy: AckPolicy.Explicit,
      // The default is a thousand for all handlers together; each handler pulls only as many
      // messages as it handles.
      max_ack_pending: -1,
    })
    const handling = await Promise.all(
      opened.map((connection) => handle(connection, atOnce, begun)),
    )
    return {
      async stop() {
        await Promise.all(handling.map((stop) => stop()))
        // Deleting the consumer returns its unacknowledged messages to the stream immediately.
        await manager.consumers.delete(stream, workers)
        await Promise.all(opened.map((connection) => connection.close()))
      },
    }
  },
}

export const natsContenders: readonly Contender[] = [nats]

function openTo(port: number): Promise<NatsConnection> {
  // Without this option the client makes a stack trace for each request.
  return connect({ servers: `127.0.0.1:${port}`, reconnect: false, noAsyncTraces: true })
}

/**
 * The documentation uses an iterator for asynchronous handlers; this many loops share one iterator.
 */
async function handle(
  connection: NatsConnection,
  atOnce: number,
  begun: () => void,
): Promise<() => Promise<unknown>> {
  const consumer = await jetstream(connection, { timeout }).consumers.get(stream, workers)
  const messages = await consumer.consume({ max_messages: atOnce })
  const shared = messages[Symbol.asyncIterator]()
  const handleAll = async () => {
    for await (const message of { [Symbol.asyncIterator]: () => shared }) {
      begun()
      // `ack` is not confirmed and may be lost; `ackAck` confirms that the message is removed.
      if (!(await message.ackAck())) throw new Error('nats does not confirm an acknowledgement')
    }
  }
  let isStopping = false
  const handled = Promise.all(Array.from({ length: atOnce }, handleAll)).then(() => {
    if (!isStopping) throw new Error('nats has ended a consumer')
  })
  return async () => {
    isStopping = true
    await messages.close()
    await handled
  }
}

class NatsClient implements Client {
  readonly #connection: NatsConnection
  readonly #jetstream: JetStreamClient

  constructor(connection: NatsConnection) {
    this.#connection = connection
    this.#jetstream = jetstream(connection, { timeout })
  }

  submit(): Promise<unknown> {
    return this.#jetstream.publish(subject, payload)
  }

  close(): Promise<unknown> {
    return this.#connection.close()
  }
}
