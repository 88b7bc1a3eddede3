import { connect as connectTcp, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Socket, SocketEvents, Target, Transport } from './transport.js'

/** Above this many unsent bytes, `write` asks callers to wait. */
const heldBytesMax = 1024 * 1024

const receiveBytes = 64 * 1024

/** TCP and TLS of Node. This is the only file in the package that uses sockets. */
export const nodeTransport: Transport = {
  connect(target: Target, events: SocketEvents): Socket {
    const { tls } = target
    const socket =
      tls === undefined ? connectTcp(optionsOf(target, events)) : connectTls(tlsOptionsOf(target))
    let failure: Error | undefined
    let outgoing: Uint8Array[] = []
    let outgoingBytes = 0
    let isHeld = false
    // Concatenate first, because a stream allocates several objects per write.
    const leave = () => {
      socket.write(outgoing.length === 1 ? outgoing[0]! : Buffer.concat(outgoing, outgoingBytes))
      outgoing = []
      outgoingBytes = 0
      // If the operating system accepts all bytes immediately, there is no `drain` event.
      if (isHeld && !socket.writableNeedDrain) release()
    }
    const release = () => {
      isHeld = false
      events.drained()
    }
    socket.setNoDelay(true)
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => events.opened())
    if (tls !== undefined) socket.on('data', (bytes) => events.received(bytes))
    socket.on('drain', release)
    socket.on('error', (error) => {
      failure = error
    })
    socket.once('close', () => events.closed(failure))
    return {
      write(bytes) {
        // All writes of one event loop turn leave in one system call.
        if (outgoing.length === 0) process.nextTick(leave)
        outgoing.push(bytes)
        outgoingBytes += bytes.length
        isHeld = socket.writableLength + outgoingBytes >= heldBytesMax
        return !isHeld
      },
      close: () => {
        socket.destroy()
      },
    }
  },
}

/** Reuses one receive buffer: allocating one per read took a quarter of the client's time. */
function optionsOf({ host, port }: Target, events: SocketEvents) {
  const buffer = Buffer.allocUnsafeSlow(receiveBytes)
  const callback = (count: number) => {
    events.received(buffer.subarray(0, count))
    return true
  }
  return { host, port, onread: { buffer, callback } }
}

function tlsOptionsOf({ host, port, tls = {} }: Target) {
  const { ca, servername, ...own } = tls
  // SNI must not contain an IP address; the certificate is then checked against `host`.
  const sni = servername ?? (isIP(host) === 0 ? host : undefined)
  return {
    host,
    port,
    ...own,
    ca: ca === undefined || typeof ca === 'string' ? ca : [...ca],
    servername: sni,
  }
}
