import { constants } from 'node:os'

/**
 * `process.exit` waits for every thread, and one in the middle of native code (a command that its
 * handler waits for, an addon) is there until that is over. So what a second signal is to end at once
 * ends by this signal itself where handlers run in threads. A shell shows the same number for it.
 */
export function endForSure(): void {
  process.on('exit', endBySignal)
}

function endBySignal(code: number): void {
  const [signal] =
    Object.entries(constants.signals).find(([, number]) => 128 + number === code) ?? []
  if (signal === undefined) return
  process.removeAllListeners(signal)
  // Goes unheeded where the process is the first one of a container: then `exit` goes on.
  process.kill(process.pid, signal)
}
