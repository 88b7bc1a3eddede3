/** What the network needs of a clock. */
interface NetworkClock {
  setTimer(delayMs: number, callback: () => void): { cancel(): void }
}

export interface SimulatedNetworkOptions {
  /** How long the next piece travels. Pieces of one direction never overtake each other. */
  readonly delayMs?: () => number
  /** How many bytes the next piece has at most. */
  readonly pieceBytesMax?: () => number
}

/**
 * A network in memory, on a simulated clock: pieces are delayed and cut as told, connections break
 * when told, and whatever was under way then is lost. Fits the `Transport` of servers and clients by
 * its shape.
 */
export class SimulatedNetwork {
  readonly #clock: NetworkClock
  readonly #delayMs: () => number
  readonly #pieceBytesMax: () => number
  readonly #connections = new Set<[SimulatedSocket, SimulatedSocket]>()
  #onSocket: ((socket: SimulatedSocket) => void) | undefined

  constructor(clock: NetworkClock, options: SimulatedNetworkOptions = {}) {
    this.#clock = clock
    this.#delayMs = options.delayMs ?? (() => 1)
    this.#pieceBytesMax = options.pieceBytesMax ?? (() => Number.POSITIVE_INFINITY)
  }

  /** Connections that are open. */
  get size(): number {
    return this.#connections.size
  }

  async listen(
    onSocket: (socket: SimulatedSocket) => void,
  ): Promise<{ port: number; close(): Promise<void> }> {
    if (this.#onSocket !== undefined) throw new Error('somebody listens already')
    this.#onSocket = onSocket
    return {
      port: 1,
      close: async () => {
        this.#onSocket = undefined
      },
    }
  }

  /** A connection to whoever listens; one that closes at once when nobody does. */
  connect(): SimulatedSocket {
    const [near, far] = [this.#socket('client'), this.#socket('server')]
    near.attach(far)
    far.attach(near)
    const pair: [SimulatedSocket, SimulatedSocket] = [near, far]
    this.#connections.add(pair)
    near.whenGone(() => this.#connections.delete(pair))
    if (this.#onSocket === undefined) near.destroy()
    else this.#onSocket(far)
    return near
  }

  /** Breaks every connection. With `alsoListening` nobody listens any more: the process has died. */
  breakAll(alsoListening = false): void {
    if (alsoListening) this.#onSocket = undefined
    for (const [near, far] of [...this.#connections]) {
      near.break()
      far.break()
    }
  }

  #socket(address: string): SimulatedSocket {
    return new SimulatedSocket(address, this.#clock, this.#delayMs, this.#pieceBytesMax)
  }
}

export class SimulatedSocket {
  readonly address: string
  readonly #clock: NetworkClock
  readonly #delayMs: () => number
  readonly #pieceBytesMax: () => number
  #peer: SimulatedSocket | undefined
  #onData: (bytes: Uint8Array) => void = () => {}
  #onDrain: () => void = () => {}
  #onClose: () => void = () => {}
  #onGone: () => void = () => {}
  /** On their way to the peer, in their order; `null` is the end. */
  readonly #underway: (Uint8Array | null)[] = []
  /** Has arrived while reading was paused. */
  readonly #arrived: (Uint8Array | null)[] = []
  #isPaused = false
  #isClosed = false
  #hasEnded = false

  constructor(
    address: string,
    clock: NetworkClock,
    delayMs: () => number,
    pieceBytesMax: () => number,
  ) {
    this.address = address
    this.#clock = clock
    this.#delayMs = delayMs
    this.#pieceBytesMax = pieceBytesMax
  }

  get unsentBytes(): number {
    return this.#underway.reduce((sum, piece) => sum + (piece?.length ?? 0), 0)
  }

  onData(callback: (bytes: Uint8Array) => void): void {
    this.#onData = callback
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback
  }

  onClose(callback: () => void): void {
    this.#onClose = callback
  }

  write(bytes: Uint8Array): void {
    if (this.#isClosed || this.#hasEnded) return
    for (let at = 0; at < bytes.length; ) {
      const length = Math.max(1, Math.min(this.#pieceBytesMax(), bytes.length - at))
      this.#send(Uint8Array.from(bytes.subarray(at, at + length)))
      at += length
    }
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    while (!this.#isPaused && this.#arrived.length > 0) this.#give(this.#arrived.shift()!)
  }

  /** Closes when everything written has arrived. */
  end(): void {
    if (this.#isClosed || this.#hasEnded) return
    this.#send(null)
    this.#hasEnded = true
    this.resume()
  }

  /** Closes at once; what is under way is lost. */
  destroy(): void {
    const peer = this.#peer
    this.break()
    peer?.break()
  }

  /** For the network. */
  attach(peer: SimulatedSocket): void {
    this.#peer = peer
  }

  /** For the network. */
  whenGone(callback: () => void): void {
    this.#onGone = callback
  }

  /** For the network: this side learns that the connection is gone. */
  break(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#underway.length = 0
    this.#arrived.length = 0
    this.#onGone()
    this.#onClose()
  }

  #send(piece: Uint8Array | null): void {
    this.#underway.push(piece)
    if (this.#underway.length === 1) this.#carryNext()
  }

  #carryNext(): void {
    this.#clock.setTimer(this.#delayMs(), () => {
      if (this.#isClosed || this.#underway.length === 0) return
      const piece = this.#underway.shift()!
      this.#peer?.receive(piece)
      if (this.#underway.length > 0) this.#carryNext()
      else if (!this.#isClosed) this.#onDrain()
    })
  }

  /** For the peer. */
  receive(piece: Uint8Array | null): void {
    if (this.#isPaused) this.#arrived.push(piece)
    else this.#give(piece)
  }

  #give(piece: Uint8Array | null): void {
    if (this.#isClosed) return
    if (piece === null) this.destroy()
    else if (!this.#hasEnded) this.#onData(piece)
  }
}
