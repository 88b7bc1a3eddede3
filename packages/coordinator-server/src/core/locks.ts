/**
 * Who waits for which decision. A task, or a request_id, about which a decision is on its way to the
 * disk is not decided about again before that is applied (`semantics` §3).
 */
export class Locks<Key, Waiter> {
  /** Nearly nobody is waited for, so there is a list only where somebody is. */
  readonly #waiters = new Map<Key, Waiter[] | undefined>()

  get size(): number {
    return this.#waiters.size
  }

  isHeld(key: Key): boolean {
    return this.#waiters.has(key)
  }

  hold(key: Key): void {
    if (this.#waiters.has(key)) throw new Error(`${String(key)} is held already`)
    this.#waiters.set(key, undefined)
  }

  /** The key is held. */
  wait(key: Key, waiter: Waiter): void {
    const waiters = this.#waiters.get(key)
    if (waiters === undefined) this.#waiters.set(key, [waiter])
    else waiters.push(waiter)
  }

  /** Those who waited, in their order. */
  release(key: Key): readonly Waiter[] {
    const waiters = this.#waiters.get(key)
    this.#waiters.delete(key)
    return waiters ?? nobody
  }
}

const nobody: readonly never[] = []
