/**
 * Names that many rows share (queues, workers). Each is stored once, with a count of its uses. A
 * row stores the name's number. Numbers start at 1 and are reused.
 */
export class Names {
  readonly #numbers = new Map<string, number>()
  readonly #texts: string[] = ['']
  readonly #uses: number[] = [0]
  readonly #removed: number[] = []

  get size(): number {
    return this.#numbers.size
  }

  [Symbol.iterator](): IterableIterator<[name: string, number: number]> {
    return this.#numbers.entries()
  }

  /** Adds a use of the name and returns its number. */
  use(text: string): number {
    const known = this.#numbers.get(text)
    if (known !== undefined) {
      this.#uses[known]!++
      return known
    }
    const number = this.#removed.pop() ?? this.#texts.length
    this.#numbers.set(text, number)
    this.#texts[number] = text
    this.#uses[number] = 1
    return number
  }

  /** Removes a use. The name is removed with its last use. */
  drop(number: number): 'kept' | 'gone' {
    this.#uses[number]!--
    if (this.#uses[number]! > 0) return 'kept'
    this.#numbers.delete(this.#texts[number]!)
    this.#texts[number] = ''
    this.#removed.push(number)
    return 'gone'
  }

  find(text: string): number | undefined {
    return this.#numbers.get(text)
  }

  text(number: number): string {
    return this.#texts[number]!
  }

  uses(number: number): number {
    return this.#uses[number]!
  }
}
