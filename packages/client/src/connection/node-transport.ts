import { connect as connectTcp, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Socket, SocketEvents, Target, Transport } from './transport.js'

/** Beyond so much that the operating system has not taken, callers are asked to wait. */
const heldBytesMax = 1024 * 1024

const receiveBytes = 64 * 1024

/** The machine's own network: the only file here that knows a socket. */
export const nodeTransport: Transport = {
  connect(target: Target, events: SocketEvents): Socket {
    const { tls } = target
    const socket =
      tls === undefined ? connectTcp(optionsOf(target, events)) : connectTls(tlsOptionsOf(target))
    let failure: Error | undefined
    let outgoing: Uint8Array[] = []
    let outgoingBytes = 0
    let isHeld = false
    // Joined, because a stream makes several objects for each piece that it is given.
    const leave = () => {
      socket.write(outgoing.length === 1 ? outgoing[0]! : Buffer.concat(outgoing, outgoingBytes))
      outgoing = []
      outgoingBytes = 0
      // What the operating system takes at once drains nothing that would be told.
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
        // What is written in one turn of the event loop leaves in one system call.
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

/** Everything is received into one piece of memory: a new one for each answer took a quarter of the time. */
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
  // By its specification SNI carries no address; the certificate is checked against `host` then.
  const sni = servername ?? (isIP(host) === 0 ? host : undefined)
  return {
    host,
    port,
    ...own,
    ca: ca === undefined || typeof ca === 'string' ? ca : [...ca],
    servername: sni,
  }
}
