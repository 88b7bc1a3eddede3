import type { Transport } from '@tenure/client'
import type { Clock } from '@tenure/seams'
import type { SimulatedNetwork } from '@tenure/testing'

/** The network of a simulated world, as a link wants it. */
export function simulatedTransport(network: SimulatedNetwork, clock: Clock): Transport {
  return {
    connect(_target, events) {
      const socket = network.connect()
      socket.onData((bytes) => events.received(bytes))
      socket.onDrain(() => events.drained())
      socket.onClose(() => events.closed(undefined))
      // No event may come before this has returned.
      clock.setTimer(0, () => events.opened())
      return {
        write: (bytes) => {
          socket.write(bytes)
          return true
        },
        close: () => socket.destroy(),
      }
    },
  }
}
