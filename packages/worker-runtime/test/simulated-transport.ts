import type { Transport } from '@tenure/client'
import type { Clock } from '@tenure/seams'
import type { SimulatedNetwork } from '@tenure/testing'

/** A simulated network as the transport of a link. */
export function simulatedTransport(network: SimulatedNetwork, clock: Clock): Transport {
  return {
    connect(_target, events) {
      const socket = network.connect()
      socket.onData((bytes) => events.received(bytes))
      socket.onDrain(() => events.drained())
      socket.onClose(() => events.closed(undefined))
      // Events must not arrive before this returns.
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
