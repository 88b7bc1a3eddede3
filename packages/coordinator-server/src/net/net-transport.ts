import { createServer, type Socket as NetSocket, type Server } from 'node:net'
import {
  createServer as createTlsServer,
  type TlsOptions,
  type Server as TlsServer,
} from 'node:tls'
import { systemClock } from '@tenure/seams'
import type { Listener, Socket, Transport } from './transport.js'
import { Wakefulness } from './wakefulness.js'

/** When a peer says nothing for so long, its machine is asked whether it is still there. */
const keepAliveMs = 30_000

/** What is handed to Node at once: it counts what has left by whole handings. */
const pieceBytes = 64 * 1024

/** What OpenSSL says of a peer that speaks the protocol, or HTTP, without it. */
const withoutTls = ['wrong version number', 'http request']

export interface NetTransportOptions {
  readonly host: string
  readonly port: number
  readonly tls?: TlsOptions | undefined
  /** How long a peer may take to read its last answers. Default 5 s. */
  readonly lingerMs?: number
}

/** TCP, with or without TLS. */
export function netTransport(options: NetTransportOptions): Transport {
  const { host, port, tls, lingerMs = 5000 } = options
  return {
    async listen(onSocket) {
      const common = { lingerMs, wakefulness: new Wakefulness(systemClock) }
      const accept = tls === undefined ? acceptPlain(common) : acceptTls(tls, common)
      // Half open: what was answered before the peer's end has to leave first.
      const server = createServer({ allowHalfOpen: true }, (raw) => onSocket(accept(raw)))
      return listen(server, host, port)
    },
  }
}

function listen(server: Server, host: string, port: number): Promise<Listener> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      // A connection that could not be accepted is the peer's affair.
      server.on('error', () => {})
      const address = server.address()
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        close: () => new Promise((closed) => server.close(() => closed())),
      })
    })
  })
}

/** What all connections share. */
interface Common {
  readonly lingerMs: number
  readonly wakefulness: Wakefulness
}

function acceptPlain(common: Common): (raw: NetSocket) => Socket {
  return (raw) => {
    const connection = new Connection(raw, common)
    connection.begin(raw)
    return connection
  }
}

/**
 * A connection is given on at once, its TLS handshake not yet done, so that it is counted and timed
 * like any other. The handshake is left to a TLS server that listens nowhere: it, and no bare
 * TLSSocket, refuses clients whose certificate is not trusted.
 */
function acceptTls(tls: TlsOptions, common: Common): (raw: NetSocket) => Socket {
  const server: TlsServer = createTlsServer(tls)
  const shaking = new Map<string, Connection>()
  server.on('secureConnection', (stream) => shaking.get(nameOf(stream))?.begin(stream))
  server.on('tlsClientError', (error, stream) => {
    shaking.get(nameOf(stream))?.fail(error)
    stream.destroy()
  })
  return (raw) => {
    const connection = new Connection(raw, common)
    const name = nameOf(raw)
    shaking.set(name, connection)
    raw.on('close', () => {
      if (shaking.get(name) === connection) shaking.delete(name)
    })
    server.emit('connection', raw)
    return connection
  }
}

/** No two connections to one port have the same. */
function nameOf({ remoteAddress, remotePort }: NetSocket): string {
  return `${remoteAddress} ${remotePort}`
}

/** A socket whose bytes go through a stream, which is there when the handshake of TLS is done. */
class Connection implements Socket {
  readonly address: string
  readonly #raw: NetSocket
  readonly #common: Common
  #stream: NetSocket | undefined
  /** Not yet handed to the stream. */
  readonly #queue: Uint8Array[] = []
  #queuedBytes = 0
  #onData: (bytes: Uint8Array) => void = () => {}
  #onDrain: () => void = () => {}
  #isPaused = true
  #hasEnded = false
  #failure: string | undefined

  constructor(raw: NetSocket, common: Common) {
    this.#raw = raw
    this.#common = common
    this.address = raw.remoteAddress ?? 'unknown'
    raw.setNoDelay(true)
    raw.setKeepAlive(true, keepAliveMs)
    // Whatever is wrong with a socket ends it, and `close` follows.
    raw.on('error', () => raw.destroy())
  }

  get unsentBytes(): number {
    return this.#queuedBytes + (this.#stream?.writableLength ?? 0)
  }

  begin(stream: NetSocket): void {
    this.#stream = stream
    // First: a stream that is not paused begins to flow when `data` is listened to.
    if (this.#isPaused) stream.pause()
    stream.on('error', () => this.#raw.destroy())
    stream.on('data', (bytes) => {
      this.#common.wakefulness.heard(this)
      this.#onData(bytes)
    })
    stream.on('end', () => this.end())
    stream.on('drain', () => {
      this.#handOver()
      if (this.#queue.length === 0) this.#onDrain()
    })
    this.#handOver()
  }

  /** The handshake of TLS has failed. */
  fail(error: Error): void {
    // OpenSSL's own message is for its developers.
    const why = 'reason' in error ? String(error.reason) : error.message
    const guess = withoutTls.includes(why) ? ' (a peer that does not use TLS?)' : ''
    this.#failure = `the TLS handshake failed: ${why}${guess}`
    this.#raw.destroy()
  }

  onData(callback: (bytes: Uint8Array) => void): void {
    this.#onData = callback
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback
  }

  onClose(callback: (failure?: string) => void): void {
    this.#raw.on('close', () => callback(this.#failure))
  }

  write(bytes: Uint8Array): void {
    if (this.#hasEnded) return
    this.#common.wakefulness.answered(this)
    // Nearly always: nothing waits, and it is small.
    const stream = this.#stream
    if (stream !== undefined && this.#queue.length === 0 && bytes.length <= pieceBytes) {
      if (!stream.writableNeedDrain) {
        stream.write(bytes)
        return
      }
    }
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      this.#queue.push(bytes.subarray(at, at + pieceBytes))
    }
    this.#queuedBytes += bytes.length
    this.#handOver()
  }

  pause(): void {
    this.#isPaused = true
    this.#stream?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#stream?.resume()
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    if (this.#stream === undefined) {
      // A last word is not worth the handshake of TLS that it would need.
      this.#raw.destroy()
      return
    }
    this.#handOver()
    // What still arrives is thrown away, or the peer's own end would never be seen.
    this.#stream.resume()
    // By the clock, not by silence: a peer that goes on sending is not waited for either.
    const linger = systemClock.setTimer(this.#common.lingerMs, () => this.#raw.destroy())
    this.#raw.on('close', () => linger.cancel())
  }

  destroy(): void {
    this.#hasEnded = true
    this.#raw.destroy()
  }

  #handOver(): void {
    const stream = this.#stream
    if (stream === undefined) return
    while (this.#queue.length > 0 && !stream.writableNeedDrain) {
      const piece = this.#queue.shift()!
      this.#queuedBytes -= piece.length
      stream.write(piece)
    }
    if (this.#hasEnded && this.#queue.length === 0) stream.end()
  }
}
