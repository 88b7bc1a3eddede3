import { closeSync, openSync } from 'node:fs'
import { systemCode } from '../errors.js'

/** A roll opens a file and a directory; some more, in case other threads take what is set free. */
const sparesMax = 8

/**
 * Descriptors that a log holds open, so that it can open its files where all others are taken, by
 * connections above all: a spare is closed and its place is used at once. Both happen on the event
 * loop, where no connection is accepted in between.
 */
export class SpareDescriptors {
  readonly #spares: number[] = []
  /** Any directory that exists will do; one for each log that is open. */
  readonly #directories: string[] = []

  /** Begins to hold spares, for a log in this directory. */
  hold(directory: string): void {
    // A directory cannot be opened on Windows, where a process has as many handles as there is memory for.
    if (process.platform === 'win32') return
    this.#directories.push(directory)
    this.#fill()
  }

  /** The log in this directory is closed. */
  release(directory: string): void {
    const at = this.#directories.indexOf(directory)
    if (at >= 0) this.#directories.splice(at, 1)
    if (this.#directories.length === 0) for (const fd of this.#spares.splice(0)) closeSync(fd)
  }

  /** Opens, and where no descriptor is left opens on the loop, in the place of a spare. */
  async open<T>(open: () => Promise<T>, openOnLoop: () => T): Promise<T> {
    try {
      return await open()
    } catch (error) {
      if (!saysNoDescriptor(error)) throw error
      return this.#openInPlace(openOnLoop, error)
    }
  }

  /** Closes. True when it was done at once, because a spare takes the place. */
  close(fd: number): boolean {
    if (this.#directories.length === 0 || this.#spares.length === sparesMax) return false
    closeSync(fd)
    this.#fill()
    return true
  }

  #openInPlace<T>(openOnLoop: () => T, cause: unknown): T {
    const spare = this.#spares.pop()
    if (spare === undefined) throw cause
    closeSync(spare)
    try {
      return openOnLoop()
    } catch (error) {
      if (!saysNoDescriptor(error)) throw error
      return this.#openInPlace(openOnLoop, error)
    } finally {
      this.#fill()
    }
  }

  #fill(): void {
    const [directory] = this.#directories
    if (directory === undefined) return
    try {
      while (this.#spares.length < sparesMax) this.#spares.push(openSync(directory, 'r'))
    } catch {
      // A spare is a precaution: without one files are opened as ever, and the next that is closed leaves
      // its place.
    }
  }
}

function saysNoDescriptor(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'EMFILE' || code === 'ENFILE'
}
