import type { Transport } from '@tenure/client'
import type { SimulatedNetwork } from '@tenure/testing'
import type { Process } from './process.js'
import type { Wire } from './wire.js'

export interface NetworkPath {
  readonly network: SimulatedNetwork
  /** The address by which faults find its connections. */
  readonly address: string
  readonly process: Process
  /** Bytes sent to the coordinator arrive. */
  readonly isOpen: () => boolean
  readonly listenIn: () => Wire
}

/** The network as seen by a client's or worker's process. */
export function clientTransport({
  network,
  address,
  process,
  isOpen,
  listenIn,
}: NetworkPath): Transport {
  return {
    connect(_target, events) {
      // The connection attempt is neither accepted nor refused.
      if (!isOpen())
        return { write: () => true, close: () => process.run(() => events.closed(undefined)) }
      const wire = listenIn()
      const socket = network.connect(address)
      let isToldClosed = false
      const close = () =>
        process.run(() => {
          if (isToldClosed) return
          isToldClosed = true
          events.closed(undefined)
        })
      socket.onData((bytes) =>
        process.run(() => {
          if (isToldClosed) return
          wire.received(bytes)
          events.received(bytes)
        }),
      )
      socket.onDrain(() => process.run(() => isToldClosed || events.drained()))
      socket.onClose(close)
      // No event may fire before `connect` has returned.
      process.clock.setTimer(0, () => {
        if (socket.isClosed) close()
        else events.opened()
      })
      return {
        write: (bytes) => {
          if (process.isOver || socket.isClosed) return true
          wire.sent(bytes)
          socket.write(bytes)
          return true
        },
        close: () => {
          if (!process.isOver) socket.destroy()
        },
      }
    },
  }
}
