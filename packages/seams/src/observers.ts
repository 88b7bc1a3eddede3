/** An observer is an object of optional hooks: methods that receive facts and return nothing. */
type Hooks<O> = { readonly [H in keyof Required<O>]: true }

/**
 * Combines several observers into one. Each event goes to them in the order in which they were added.
 *
 * The caller passes the names of all hooks as a table, so that the compiler reports a missing one.
 */
export class Observers<O extends object> {
  /** The combined observer. It implements every hook. */
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
