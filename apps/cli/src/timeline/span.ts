/** A stretch of time, in milliseconds since the epoch. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Whether something that lasted so long was, at some moment of it, within the span. */
export function overlaps(span: Span, from: number, to: number): boolean {
  return from <= span.to && to >= span.from
}

export function contains(span: Span, at: number): boolean {
  return at >= span.from && at <= span.to
}

/** How much of something there was in each of some equally long pieces of a span. */
export class Bins {
  readonly #span: Span
  readonly #amounts: Float64Array
  /** What begins (and, negative, ends) to fill whole pieces: summed up when it is asked for. */
  readonly #steps: Float64Array
  /** Of what came: events, or things that lasted. */
  count = 0

  constructor(span: Span, pieces: number) {
    this.#span = span
    this.#amounts = new Float64Array(pieces)
    this.#steps = new Float64Array(pieces + 1)
  }

  /** Something happened. */
  addEvent(at: number): void {
    const index = Math.floor(this.#place(at))
    this.#add(Math.min(index, this.#amounts.length - 1), 1)
    this.count++
  }

  /** Something lasted: a piece gets as much of it as it covers of the piece. */
  addSpan(from: number, to: number): void {
    const first = this.#place(from)
    const last = this.#place(to)
    const [start, end] = [Math.floor(first), Math.floor(last)]
    if (start === end) this.#add(start, last - first)
    else {
      this.#add(start, start + 1 - first)
      this.#add(end, last - end)
      this.#steps[start + 1]! += 1
      this.#steps[end]! -= 1
    }
    this.count++
  }

  get amounts(): number[] {
    let whole = 0
    return Array.from(this.#amounts, (part, index) => {
      whole += this.#steps[index]!
      return whole + part
    })
  }

  #place(at: number): number {
    const { from, to } = this.#span
    const place = ((at - from) / (to - from)) * this.#amounts.length
    return Math.max(0, Math.min(this.#amounts.length, place))
  }

  #add(index: number, amount: number): void {
    // The end of the span belongs to no piece.
    if (index < this.#amounts.length) this.#amounts[index]! += amount
  }
}
