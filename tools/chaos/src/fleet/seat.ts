import type { Child, Exit } from './child.js'

/**
 * A place in the fleet, and the process that sits there now.
 *
 *     down ── start ──▶ running ── pause ──▶ paused ── resume ──▶ running
 *       ▲                  │                    │
 *       └────── kill ──────┴────────────────────┘
 */
export class Seat {
  readonly name: string
  readonly #launch: (life: number) => Child
  readonly #onUnexpectedExit: (seat: Seat, exit: Exit) => void
  readonly #children: Child[] = []
  #mode: 'down' | 'running' | 'paused' = 'down'
  #isExpectedToEnd = false

  /** `onUnexpectedExit` is called when the process exits without being told to; the seat is then down. */
  constructor(
    name: string,
    launch: (life: number) => Child,
    onUnexpectedExit: (seat: Seat, exit: Exit) => void,
  ) {
    this.name = name
    this.#launch = launch
    this.#onUnexpectedExit = onUnexpectedExit
  }

  /** The number of processes that this seat has had; also the number of the current one. */
  get life(): number {
    return this.#children.length
  }

  get mode(): 'down' | 'running' | 'paused' {
    return this.#mode
  }

  start(): void {
    if (this.#mode !== 'down') throw new Error(`${this.name} is already ${this.#mode}`)
    this.#mode = 'running'
    this.#isExpectedToEnd = false
    const child = this.#launch(this.life + 1)
    this.#children.push(child)
    void this.#watch(child)
  }

  pause(): void {
    this.#mode = 'paused'
    this.#child?.signal('SIGSTOP')
  }

  /** Does nothing if the process has exited meanwhile. */
  resume(): void {
    if (this.#mode !== 'paused') return
    this.#mode = 'running'
    this.#child?.signal('SIGCONT')
  }

  /** SIGKILL: the process can do nothing more. */
  async kill(): Promise<void> {
    this.#mode = 'down'
    await this.#endBy('SIGKILL')
  }

  /** SIGTERM; returns how the process exited. */
  async stop(): Promise<Exit | undefined> {
    const exit = await this.#endBy('SIGTERM')
    this.#mode = 'down'
    return exit
  }

  /** Number of its past processes that left children running. */
  get leftovers(): number {
    return this.#children.filter((child) => child.isLeft).length
  }

  /** Kills the current process and all leftovers immediately; settles when the last one is gone. */
  async end(): Promise<void> {
    this.#isExpectedToEnd = true
    for (const child of this.#children) child.end()
    await this.#child?.exited
  }

  get #child(): Child | undefined {
    return this.#children.at(-1)
  }

  #endBy(signal: NodeJS.Signals): Promise<Exit> | undefined {
    this.#isExpectedToEnd = true
    this.#child?.signal(signal)
    return this.#child?.exited
  }

  async #watch(child: Child): Promise<void> {
    const exit = await child.exited
    if (this.#child !== child || this.#isExpectedToEnd) return
    this.#mode = 'down'
    this.#onUnexpectedExit(this, exit)
  }
}
