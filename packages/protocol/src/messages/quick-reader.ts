import { Unreadable, ValueReader } from '@tenure/values'
import { isTextOf } from '../wire/fields.js'

/** Reads the values of messages that come all the time. What is out of bounds is `Unreadable`, too. */
export class QuickReader extends ValueReader {
  wholeOf(min: number, max: number): number {
    const value = this.whole()
    if (value >= min && value <= max) return value
    throw new Unreadable('a number is out of bounds')
  }

  lsn(): number {
    return this.wholeOf(1, Number.MAX_SAFE_INTEGER)
  }

  listOf(length: number): void {
    if (this.list() !== length) throw new Unreadable('a list of another length')
  }

  textOf(min: number, max: number): string {
    const text = this.text()
    if (isTextOf(text, min, max)) return text
    throw new Unreadable('a text is out of bounds')
  }

  /** `undefined` where it cannot be read here: not in this form, or not at all. */
  attempt<T>(bytes: Uint8Array, read: () => T | undefined): T | undefined {
    try {
      this.begin(bytes)
      const value = read()
      return this.isAtEnd ? value : undefined
    } catch (error) {
      if (error instanceof Unreadable) return undefined
      throw error
    }
  }
}
