import type { Transport } from '@tenure/client'
import type { SimulatedNetwork } from '@tenure/testing'
import type { Process } from './process.js'
import type { Wire } from './wire.js'

type Target = Parameters<Transport['connect']>[0]

export interface NetworkPath {
  /** The network to a coordinator; `undefined` if nothing that is sent there arrives. */
  readonly reach: (target: Target) => SimulatedNetwork | undefined
  /** The address by which faults find its connections. */
  readonly address: string
  readonly process: Process
  readonly listenIn: () => Wire
}

/** The network as seen by a client's or worker's process. */
export function clientTransport({ reach, address, process, listenIn }: NetworkPath): Transport {
  return {
    connect(target, events) {
      // The connection attempt is neither accepted nor refused.
      const network = reach(target)
      if (network === undefined)
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
