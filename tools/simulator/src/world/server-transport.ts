import type { Socket, Transport } from '@tenure/coordinator-server'
import type { SimulatedNetwork, SimulatedSocket } from '@tenure/testing'
import type { Process } from './process.js'

/** The network as seen by the coordinator's process; a dead process receives and sends nothing. */
export function serverTransport(network: SimulatedNetwork, process: Process): Transport {
  return {
    async listen(onSocket) {
      // Promise callbacks of a dead process have no effect.
      if (process.isOver) return new Promise(() => {})
      const listener = await network.listen((socket) => {
        // Bytes that arrive while the process is stopped wait for it.
        socket.pause()
        process.run(() => onSocket(serverSocket(socket, process)))
      })
      return {
        port: listener.port,
        async close() {
          if (!process.isOver) await listener.close()
        },
      }
    },
  }
}

function serverSocket(socket: SimulatedSocket, process: Process): Socket {
  const whileAlive = (action: () => void) => {
    if (!process.isOver) action()
  }
  return {
    address: socket.address,
    get unsentBytes() {
      return socket.unsentBytes
    },
    onData: (callback) => socket.onData((bytes) => process.run(() => callback(bytes))),
    onDrain: (callback) => socket.onDrain(() => process.run(callback)),
    onClose: (callback) => socket.onClose(() => process.run(() => callback())),
    write: (bytes) => whileAlive(() => socket.write(bytes)),
    pause: () => whileAlive(() => socket.pause()),
    resume: () => whileAlive(() => socket.resume()),
    end: () => whileAlive(() => socket.end()),
    destroy: () => whileAlive(() => socket.destroy()),
  }
}
