/**
 * A callback is somebody else's code, called in the middle of ours. What it throws is the process's
 * affair, like what is thrown from any event; but what we were doing is done to its end before.
 */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
