/** Time that passes timer by timer. */
export class DuelClock {
  #nowMs = 1000
  readonly #timers: { readonly dueMs: number; readonly callback: () => void }[] = []

  now(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  setTimer(delayMs: number, callback: () => void): { cancel(): void } {
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), callback }
    const behind = this.#timers.findIndex(({ dueMs }) => dueMs > timer.dueMs)
    this.#timers.splice(behind === -1 ? this.#timers.length : behind, 0, timer)
    return {
      cancel: () => {
        const at = this.#timers.indexOf(timer)
        if (at !== -1) this.#timers.splice(at, 1)
      },
    }
  }

  soon(callback: () => void): void {
    queueMicrotask(callback)
  }

  /** Runs the next timer. */
  async tick(): Promise<void> {
    const timer = this.#timers.shift()
    if (timer === undefined) return
    this.#nowMs = timer.dueMs
    timer.callback()
    await this.settle()
  }

  /** Lets everything run that needs no time. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }

  /** When the timers are due, from now on. */
  get key(): string {
    return this.#timers.map(({ dueMs }) => Math.round(dueMs - this.#nowMs)).join()
  }
}
