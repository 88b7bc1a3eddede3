import type { Clock } from '@tenure/seams'
import type { SimulatedClock } from '@tenure/testing'

export interface Life {
  isOver: boolean
}

/** A clock that stops calling back when its process has died. */
export function mortalClock(clock: SimulatedClock, life: Readonly<Life>): Clock {
  const whileAlive = (callback: () => void) => () => {
    if (!life.isOver) callback()
  }
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    setTimer: (delayMs, callback) => clock.setTimer(delayMs, whileAlive(callback)),
    soon: (callback) => clock.soon(whileAlive(callback)),
  }
}
