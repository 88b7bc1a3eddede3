/**
 * Reports an exception from a user's callback as an uncaught exception, after the current work is done. So the
 * callback cannot leave the client in an inconsistent state.
 */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
