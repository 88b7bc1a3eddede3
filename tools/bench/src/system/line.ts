/** First come, first served, in one piece of memory: an Array that is shifted is copied again and again. */
export class Line<Thing> {
  readonly #places: (Thing | undefined)[]
  #first = 0
  #size = 0

  /** `most`: how many may wait at once. */
  constructor(most: number) {
    this.#places = new Array<Thing | undefined>(most).fill(undefined)
  }

  push(thing: Thing): void {
    if (this.#size === this.#places.length) throw new Error('there is no place left in the line')
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
