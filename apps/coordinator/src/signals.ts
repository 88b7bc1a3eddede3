import { constants } from 'node:os'

const stopSignals = ['SIGTERM', 'SIGINT'] as const

export type StopSignal = (typeof stopSignals)[number]

/** Settles with the first signal to stop. The second one ends the process where it is. */
export function awaitStopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let wasTold = false
    for (const signal of stopSignals) {
      process.on(signal, () => {
        if (wasTold) process.exit(128 + constants.signals[signal])
        wasTold = true
        resolve(signal)
      })
    }
  })
}
