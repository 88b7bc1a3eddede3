import type { Transport } from '@tenure/client'
import type { Clock } from '@tenure/seams'
import type { SimulatedNetwork } from '@tenure/testing'

/** Simulated networks, one for each host, as the transport of a link. */
export function simulatedTransport(
  networkOf: (host: string) => SimulatedNetwork,
  clock: Clock,
): Transport {
  return {
    connect({ host }, events) {
      const socket = networkOf(host).connect()
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
