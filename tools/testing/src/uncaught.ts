import { Events } from './events.js'

/** Takes the process's uncaught exceptions in place of whoever else would. */
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
