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
  readonly #onOwnEnd: (seat: Seat, exit: Exit) => void
  readonly #children: Child[] = []
  #mode: 'down' | 'running' | 'paused' = 'down'
  #isExpectedToEnd = false

  /** `onOwnEnd` hears of a process that nobody told to end; the seat is down then. */
  constructor(
    name: string,
    launch: (life: number) => Child,
    onOwnEnd: (seat: Seat, exit: Exit) => void,
  ) {
    this.name = name
    this.#launch = launch
    this.#onOwnEnd = onOwnEnd
  }

  /** How many processes have sat here, and which of them sits here now. */
  get life(): number {
    return this.#children.length
  }

  get mode(): 'down' | 'running' | 'paused' {
    return this.#mode
  }

  start(): void {
    if (this.#mode !== 'down') throw new Error(`${this.name} is ${this.#mode} already`)
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

  /** One that has ended meanwhile by itself does not run again. */
  resume(): void {
    if (this.#mode !== 'paused') return
    this.#mode = 'running'
    this.#child?.signal('SIGCONT')
  }

  /** SIGKILL: no chance to do anything any more. */
  async kill(): Promise<void> {
    this.#mode = 'down'
    await this.#endBy('SIGKILL')
  }

  /** SIGTERM, and how it ended. */
  async stop(): Promise<Exit | undefined> {
    const exit = await this.#endBy('SIGTERM')
    this.#mode = 'down'
    return exit
  }

  /** How many of its processes have left something behind that runs. */
  get leftovers(): number {
    return this.#children.filter((child) => child.isLeft).length
  }

  /** At once, with whatever is left of all who sat here; settles when the last of them is gone. */
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
    this.#onOwnEnd(this, exit)
  }
}
