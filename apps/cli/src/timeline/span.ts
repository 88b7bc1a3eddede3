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
