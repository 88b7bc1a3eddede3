/**
 * The first faults of a check, and their total: in a broken log almost every record may be wrong.
 */
export class FaultSample {
  readonly first: string[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  add(fault: string): void {
    if (++this.#count <= shownMax) this.first.push(fault)
  }

  addAll(faults: Iterable<string>): void {
    for (const fault of faults) this.add(fault)
  }

  join({ first, count }: FaultSample): void {
    this.addAll(first)
    this.#count += count - first.length
  }
}

const shownMax = 10
