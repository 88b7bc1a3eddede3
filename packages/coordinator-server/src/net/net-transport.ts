import { createServer, type Socket as NetSocket, type Server } from 'node:net'
import {
  createServer as createTlsServer,
  type TlsOptions,
  type Server as TlsServer,
} from 'node:tls'
import { systemClock } from '@tenure/seams'
import { BusyPoll } from './busy-poll.js'
import type { Listener, Socket, Transport } from './transport.js'

/** Idle time before TCP keep-alive probes the peer. */
const keepAliveMs = 30_000

/** Maximum size of one write to Node, which reports progress only per completed write. */
const pieceBytes = 64 * 1024

/** OpenSSL's error reasons for a client that does not use TLS. */
const noTlsReasons = ['wrong version number', 'http request']

export interface NetTransportOptions {
  readonly host: string
  readonly port: number
  readonly tls?: TlsOptions | undefined
  /** How long to wait for a peer to read its last answers. Default 5 s. */
  readonly lingerMs?: number
}

/** TCP, with or without TLS. */
export function netTransport(options: NetTransportOptions): Transport {
  const { host, port, tls, lingerMs = 5000 } = options
  return {
    async listen(onSocket) {
      const shared = { lingerMs, busyPoll: new BusyPoll(systemClock) }
      const accept = tls === undefined ? acceptPlain(shared) : acceptTls(tls, shared)
      // Half open: send the remaining answers even after the peer has ended its side.
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
      // A failed accept affects only that peer.
      server.on('error', () => {})
      const address = server.address()
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        close: () => new Promise((closed) => server.close(() => closed())),
      })
    })
  })
}

/** State shared by all connections. */
interface SharedState {
  readonly lingerMs: number
  readonly busyPoll: BusyPoll
}

function acceptPlain(shared: SharedState): (raw: NetSocket) => Socket {
  return (raw) => {
    const connection = new Connection(raw, shared)
    connection.begin(raw)
    return connection
  }
}

/**
 * Passes a connection on before its TLS handshake, so that connection limits and timeouts apply to it. A
 * TLS server without a listening port does the handshake: unlike a bare TLSSocket, it rejects untrusted
 * client certificates.
 */
function acceptTls(tls: TlsOptions, shared: SharedState): (raw: NetSocket) => Socket {
  const server: TlsServer = createTlsServer(tls)
  const handshakes = new Map<string, Connection>()
  server.on('secureConnection', (stream) => handshakes.get(nameOf(stream))?.begin(stream))
  server.on('tlsClientError', (error, stream) => {
    handshakes.get(nameOf(stream))?.fail(error)
    stream.destroy()
  })
  return (raw) => {
    const connection = new Connection(raw, shared)
    const name = nameOf(raw)
    handshakes.set(name, connection)
    raw.on('close', () => {
      if (handshakes.get(name) === connection) handshakes.delete(name)
    })
    server.emit('connection', raw)
    return connection
  }
}

/** Unique among the open connections to one port. */
function nameOf({ remoteAddress, remotePort }: NetSocket): string {
  return `${remoteAddress} ${remotePort}`
}

/** A socket whose stream becomes available after the TLS handshake. */
class Connection implements Socket {
  readonly address: string
  readonly #raw: NetSocket
  readonly #shared: SharedState
  #stream: NetSocket | undefined
  /** Pieces not yet passed to the stream. */
  readonly #queue: Uint8Array[] = []
  #queuedBytes = 0
  #onData: (bytes: Uint8Array) => void = () => {}
  #onDrain: () => void = () => {}
  #isPaused = true
  #hasEnded = false
  #failure: string | undefined

  constructor(raw: NetSocket, shared: SharedState) {
    this.#raw = raw
    this.#shared = shared
    this.address = raw.remoteAddress ?? 'unknown'
    raw.setNoDelay(true)
    raw.setKeepAlive(true, keepAliveMs)
    // Any socket error ends the connection, and `close` follows.
    raw.on('error', () => raw.destroy())
  }

  get unsentBytes(): number {
    return this.#queuedBytes + (this.#stream?.writableLength ?? 0)
  }

  begin(stream: NetSocket): void {
    this.#stream = stream
    // Pause first: adding a `data` listener starts the flow of a stream that is not paused.
    if (this.#isPaused) stream.pause()
    stream.on('error', () => this.#raw.destroy())
    stream.on('data', (bytes) => {
      this.#shared.busyPoll.heard(this)
      this.#onData(bytes)
    })
    stream.on('end', () => this.end())
    stream.on('drain', () => {
      this.#drainQueue()
      if (this.#queue.length === 0) this.#onDrain()
    })
    this.#drainQueue()
  }

  /** Closes the connection after a failed TLS handshake. */
  fail(error: Error): void {
    // OpenSSL's full message is meant for its developers.
    const why = 'reason' in error ? String(error.reason) : error.message
    const guess = noTlsReasons.includes(why) ? ' (does the peer use TLS?)' : ''
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
    this.#shared.busyPoll.answered(this)
    // Fast path: the queue is empty and the bytes fit into one piece.
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
    this.#drainQueue()
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
      // The last message is not worth completing a TLS handshake.
      this.#raw.destroy()
      return
    }
    this.#drainQueue()
    // Discard further input; otherwise the peer's end would go unnoticed.
    this.#stream.resume()
    // A deadline instead of an idle timeout: a peer that keeps sending is closed as well.
    const linger = systemClock.setTimer(this.#shared.lingerMs, () => this.#raw.destroy())
    this.#raw.on('close', () => linger.cancel())
  }

  destroy(): void {
    this.#hasEnded = true
    this.#raw.destroy()
  }

  #drainQueue(): void {
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
