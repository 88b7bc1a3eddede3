/**
 * Locks on tasks or request ids with an in-flight decision. No other decision about them is made until it
 * is applied (`semantics` §3).
 */
export class Locks<Key, Waiter> {
  /** Contention is rare, so waiter lists are allocated lazily. */
  readonly #waiters = new Map<Key, Waiter[] | undefined>()

  get size(): number {
    return this.#waiters.size
  }

  isLocked(key: Key): boolean {
    return this.#waiters.has(key)
  }

  lock(key: Key): void {
    if (this.#waiters.has(key))
      throw new Error(`${String(key)} is locked already; wait until its decision is applied`)
    this.#waiters.set(key, undefined)
  }

  /** Adds a waiter to a locked key. */
  wait(key: Key, waiter: Waiter): void {
    const waiters = this.#waiters.get(key)
    if (waiters === undefined) this.#waiters.set(key, [waiter])
    else waiters.push(waiter)
  }

  /** Returns the waiters in order of arrival. */
  release(key: Key): readonly Waiter[] {
    const waiters = this.#waiters.get(key)
    this.#waiters.delete(key)
    return waiters ?? none
  }
}

const none: readonly never[] = []
