/** A stretch of time, in milliseconds since the epoch. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Whether the time from `from` to `to` overlaps the span. */
export function overlaps(span: Span, from: number, to: number): boolean {
  return from <= span.to && to >= span.from
}

export function contains(span: Span, at: number): boolean {
  return at >= span.from && at <= span.to
}

/** A histogram over equally long pieces of a span. */
export class Bins {
  readonly #span: Span
  readonly #amounts: Float64Array
  /** Changes of the number of spans that fill whole pieces; `amounts` sums them up. */
  readonly #steps: Float64Array
  /** Number of added events or spans. */
  count = 0

  constructor(span: Span, pieces: number) {
    this.#span = span
    this.#amounts = new Float64Array(pieces)
    this.#steps = new Float64Array(pieces + 1)
  }

  addEvent(at: number): void {
    const index = Math.floor(this.#place(at))
    this.#add(Math.min(index, this.#amounts.length - 1), 1)
    this.count++
  }

  /** Adds to each piece the share of it that is covered. */
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
