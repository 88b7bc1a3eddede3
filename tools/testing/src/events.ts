/** Collects the calls of a hook, and lets a test wait for them. */
export class Events<T> {
  readonly seen: T[] = []
  readonly #waiting: (() => void)[] = []

  readonly add = (event: T): void => {
    this.seen.push(event)
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** The event with this number, counted from 1. */
  async at(number: number): Promise<T> {
    while (this.seen.length < number) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    return this.seen[number - 1]!
  }
}

/** Takes over the uncaught exceptions of the process. */
export class Uncaught extends Events<unknown> {
  readonly #others = process.listeners('uncaughtException')

  constructor() {
    super()
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', this.add)
  }

  [Symbol.dispose](): void {
    process.removeAllListeners('uncaughtException')
    for (const other of this.#others) process.on('uncaughtException', other)
  }
}
