import { createServer, type Socket as NetSocket, type Server } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import type { Listener, Socket, Transport } from './transport.js'

/** How long a peer may take to read its last answers. */
const lingerMs = 5000

export interface NetTransportOptions {
  readonly host: string
  readonly port: number
  readonly tls?: TlsOptions
}

/** TCP, with or without TLS. */
export function netTransport({ host, port, tls }: NetTransportOptions): Transport {
  return {
    listen(onSocket) {
      const accept = (socket: NetSocket) => onSocket(adapt(socket))
      const server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept)
      return listen(server, host, port)
    },
  }
}

function listen(server: Server, host: string, port: number): Promise<Listener> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      // A handshake that fails is the peer's affair, and so is a connection that could not be accepted.
      server.on('error', () => {})
      const address = server.address()
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        close: () => new Promise((closed) => server.close(() => closed())),
      })
    })
  })
}

function adapt(socket: NetSocket): Socket {
  socket.setNoDelay(true)
  // Whatever is wrong with a socket ends it, and `close` follows.
  socket.on('error', () => socket.destroy())
  return {
    address: socket.remoteAddress ?? 'unknown',
    get unsentBytes() {
      return socket.writableLength
    },
    onData: (callback) => void socket.on('data', callback),
    onClose: (callback) => void socket.on('close', callback),
    write: (bytes) => void socket.write(bytes),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    end() {
      socket.end()
      // What still arrives is thrown away, or the peer's own end would never be seen; and a peer that
      // does not end is not waited for.
      socket.resume()
      socket.setTimeout(lingerMs, () => socket.destroy())
    },
    destroy: () => void socket.destroy(),
  }
}
