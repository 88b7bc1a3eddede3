/** A bounded FIFO queue in one array: shifting a plain Array copies it again and again. */
export class FifoQueue<Thing> {
  readonly #places: (Thing | undefined)[]
  #first = 0
  #size = 0

  /** `most`: the capacity. */
  constructor(most: number) {
    this.#places = new Array<Thing | undefined>(most).fill(undefined)
  }

  push(thing: Thing): void {
    if (this.#size === this.#places.length) throw new Error('the queue is full')
    this.#places[(this.#first + this.#size) % this.#places.length] = thing
    this.#size++
  }

  shift(): Thing | undefined {
    if (this.#size === 0) return undefined
    const thing = this.#places[this.#first]
    this.#places[this.#first] = undefined
    this.#first = (this.#first + 1) % this.#places.length
    this.#size--
    return thing
  }
}
