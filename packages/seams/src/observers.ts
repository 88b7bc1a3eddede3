/** An observer is an object of hooks: optional methods that are told something and return nothing. */
type Hooks<O> = { readonly [H in keyof Required<O>]: true }

/**
 * Several observers that are told as one, in the order in which they were added.
 *
 * The names of all hooks stand in a table, so that the compiler sees when one is missing.
 */
export class Observers<O extends object> {
  /** Tells each of them. It has every hook. */
  readonly all: Required<O>
  readonly #listeners: ReadonlyMap<string, ((...facts: unknown[]) => void)[]>

  constructor(hooks: Hooks<O>, observers: readonly O[]) {
    const names = Object.keys(hooks)
    this.#listeners = new Map(names.map((name) => [name, []]))
    this.all = Object.fromEntries(names.map((name) => [name, this.#teller(name)])) as Required<O>
    for (const observer of observers) this.add(observer)
  }

  add(observer: O): void {
    for (const [name, listeners] of this.#listeners) {
      const hook = observer[name as keyof O]
      if (typeof hook === 'function') listeners.push(hook.bind(observer))
    }
  }

  #teller(name: string): (...facts: unknown[]) => void {
    const listeners = this.#listeners.get(name)!
    return (...facts) => {
      for (const listener of listeners) listener(...facts)
    }
  }
}
