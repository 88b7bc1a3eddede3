/** Runs the action once, later, without keeping the process alive for it. */
export type Later = (delayMs: number, action: () => void) => void

/** The machine's own timer: the only file here that sets one. */
export const systemLater: Later = (delayMs, action) => {
  setTimeout(action, delayMs).unref()
}
