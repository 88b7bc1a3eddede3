import { constants } from 'node:os'
import { type Host, type StopSignal, stopSignals } from '../host.js'

/** Settles with the first signal to stop. The second one ends the process where it is. */
export function awaitStopSignal(host: Pick<Host, 'on' | 'exit'>): Promise<StopSignal> {
  return new Promise((resolve) => {
    let wasTold = false
    for (const signal of stopSignals) {
      host.on(signal, () => {
        if (wasTold) host.exit(128 + constants.signals[signal])
        wasTold = true
        resolve(signal)
      })
    }
  })
}
