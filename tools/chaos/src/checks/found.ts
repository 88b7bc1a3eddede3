/** The first of what was found, and how much there was: of a broken log everything may be wrong. */
export class Found {
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

  join({ first, count }: Found): void {
    this.addAll(first)
    this.#count += count - first.length
  }
}

const shownMax = 10
