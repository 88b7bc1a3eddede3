/** How each node was first reached. There are millions, so no node has an object of its own. */
export class Paths {
  #parents = new Uint32Array(1024)
  #actions = new Uint32Array(1024)
  #depths = new Uint16Array(1024)
  #size = 0
  #longest = 0

  get size(): number {
    return this.#size
  }

  /** Number of actions to the farthest node. */
  get longest(): number {
    return this.#longest
  }

  /** Returns the index of the new node. The first one has no parent and names itself. */
  add(parent: number, action: number): number {
    if (this.#size === this.#parents.length) this.#grow()
    const index = this.#size++
    this.#parents[index] = parent
    this.#actions[index] = action
    this.#depths[index] = index === 0 ? 0 : this.#depths[parent]! + 1
    this.#longest = Math.max(this.#longest, this.#depths[index]!)
    return index
  }

  depth(index: number): number {
    return this.#depths[index]!
  }

  /** The actions from the start to the node. */
  to(index: number): number[] {
    const actions = [this.#actions[index]!]
    for (let at = index; at !== 0; at = this.#parents[at]!) {
      actions.push(this.#actions[this.#parents[at]!]!)
    }
    return actions.reverse()
  }

  #grow(): void {
    this.#parents = grown(this.#parents)
    this.#actions = grown(this.#actions)
    this.#depths = grown(this.#depths)
  }
}

function grown<A extends Uint16Array | Uint32Array>(array: A): A {
  const larger = new (array.constructor as new (length: number) => A)(array.length * 2)
  larger.set(array)
  return larger
}
