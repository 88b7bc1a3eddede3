import type { Transport } from '@tenure/client'
import type { SimulatedNetwork } from '@tenure/testing'
import type { Process } from './process.js'
import type { Wire } from './wire.js'

export interface Way {
  readonly network: SimulatedNetwork
  /** Under which faults find its connections. */
  readonly address: string
  readonly process: Process
  /** What is sent to the coordinator now gets there. */
  readonly isOpen: () => boolean
  readonly listenIn: () => Wire
}

/** The network as a client's or worker's process has it. */
export function clientTransport({ network, address, process, isOpen, listenIn }: Way): Transport {
  return {
    connect(_target, events) {
      // Nobody answers, and nobody refuses.
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
      // No event may come before this has returned.
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
