import { closeSync, openSync } from 'node:fs'
import { systemCode } from '../errors.js'

/** A roll opens a file and a directory. The others are for races with other threads of the process. */
const sparesMax = 8

/**
 * Keeps descriptors open, so that the log can open its files when all other descriptors are taken,
 * mostly by connections. `open` closes a spare and reuses its slot immediately. Both steps run
 * synchronously, so no connection can be accepted in between.
 */
export class SpareDescriptors {
  readonly #spares: number[] = []
  /** Directories of the open logs. A spare is a descriptor of any of them. */
  readonly #directories: string[] = []

  /** Starts keeping spares for a log in this directory. */
  hold(directory: string): void {
    // Windows cannot open a directory, and its number of handles is limited only by memory.
    if (process.platform === 'win32') return
    this.#directories.push(directory)
    this.#fill()
  }

  /** Called when the log in this directory is closed. */
  release(directory: string): void {
    const at = this.#directories.indexOf(directory)
    if (at >= 0) this.#directories.splice(at, 1)
    if (this.#directories.length === 0) for (const fd of this.#spares.splice(0)) closeSync(fd)
  }

  /** Opens asynchronously. Without a free descriptor it opens synchronously in the slot of a spare. */
  async open<T>(open: () => Promise<T>, openOnLoop: () => T): Promise<T> {
    try {
      return await open()
    } catch (error) {
      if (!saysNoDescriptor(error)) throw error
      return this.#openInPlace(openOnLoop, error)
    }
  }

  /** Closes the descriptor. Returns true if it was closed synchronously, because a spare takes its slot. */
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
      // Spares are a precaution. Without one, files are opened as usual, and the next close refills
      // the spares.
    }
  }
}

function saysNoDescriptor(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'EMFILE' || code === 'ENFILE'
}
