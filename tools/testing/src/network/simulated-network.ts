/** The clock methods that the network uses. */
interface NetworkClock {
  setTimer(delayMs: number, callback: () => void): { cancel(): void }
}

export interface SimulatedNetworkOptions {
  /** Travel time of the sender's next piece. Pieces in one direction never overtake each other. */
  readonly delayMs?: (sender: SimulatedSocket) => number
  /** Maximum size of the next piece. */
  readonly pieceBytesMax?: () => number
}

/** Both sides of a connection: the connecting one (near) and the listening one (far). */
export interface SimulatedConnection {
  readonly near: SimulatedSocket
  readonly far: SimulatedSocket
}

/**
 * A network in memory, on a simulated clock. It delays and splits data, and breaks connections, as the test
 * says; data in transit on a broken connection is lost. Structurally compatible with the `Transport` of
 * servers and clients.
 */
export class SimulatedNetwork {
  readonly #clock: NetworkClock
  readonly #delayMs: (sender: SimulatedSocket) => number
  readonly #pieceBytesMax: () => number
  readonly #connections = new Set<SimulatedConnection>()
  #onSocket: ((socket: SimulatedSocket) => void) | undefined

  constructor(clock: NetworkClock, options: SimulatedNetworkOptions = {}) {
    this.#clock = clock
    this.#delayMs = options.delayMs ?? (() => 1)
    this.#pieceBytesMax = options.pieceBytesMax ?? (() => Number.POSITIVE_INFINITY)
  }

  /** Number of open connections. */
  get size(): number {
    return this.#connections.size
  }

  /** Connections that at least one side considers open, oldest first. */
  get connections(): SimulatedConnection[] {
    return [...this.#connections]
  }

  async listen(
    onSocket: (socket: SimulatedSocket) => void,
  ): Promise<{ port: number; close(): Promise<void> }> {
    if (this.#onSocket !== undefined) throw new Error('the network already has a listener')
    this.#onSocket = onSocket
    return {
      port: 1,
      close: async () => {
        this.#onSocket = undefined
      },
    }
  }

  /** Connects to the listener, from this address. Without a listener the socket closes immediately. */
  connect(address = 'client'): SimulatedSocket {
    // A socket's address is that of its peer.
    const [near, far] = [this.#socket('server'), this.#socket(address)]
    near.attach(far)
    far.attach(near)
    const connection = { near, far }
    this.#connections.add(connection)
    const forget = () => {
      if (near.isClosed && far.isClosed) this.#connections.delete(connection)
    }
    near.whenGone(forget)
    far.whenGone(forget)
    if (this.#onSocket === undefined) near.destroy()
    else this.#onSocket(far)
    return near
  }

  /** Stops listening. Existing connections stay open, without notice. */
  stopListening(): void {
    this.#onSocket = undefined
  }

  /** Breaks every connection. `alsoListening` stops listening, too, as when the process dies. */
  breakAll(alsoListening = false): void {
    if (alsoListening) this.#onSocket = undefined
    for (const { near, far } of this.connections) {
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
  readonly #delayMs: (sender: SimulatedSocket) => number
  readonly #pieceBytesMax: () => number
  #peer: SimulatedSocket | undefined
  #onData: (bytes: Uint8Array) => void = () => {}
  #onDrain: () => void = () => {}
  #onClose: () => void = () => {}
  #onGone: () => void = () => {}
  /** Pieces in transit to the peer, in order; `null` is the end. */
  readonly #underway: (Uint8Array | null)[] = []
  /** Pieces that arrived while reading was paused. */
  readonly #arrived: (Uint8Array | null)[] = []
  #isPaused = false
  #isClosed = false
  #hasEnded = false
  #isHeld = false
  /** Whether the first piece is in transit. */
  #isCarrying = false

  constructor(
    address: string,
    clock: NetworkClock,
    delayMs: (sender: SimulatedSocket) => number,
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

  get isClosed(): boolean {
    return this.#isClosed
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

  /** Closes after everything written has arrived. */
  end(): void {
    if (this.#isClosed || this.#hasEnded) return
    this.#send(null)
    this.#hasEnded = true
    this.resume()
  }

  /** Closes immediately; data in transit is lost. The peer notices unless this side is held. */
  destroy(): void {
    const peer = this.#peer
    this.break()
    if (!this.#isHeld) peer?.break()
  }

  /** Stops this side's data in transit; the peer does not notice. */
  hold(): void {
    this.#isHeld = true
  }

  /** Delivers the held data. */
  release(): void {
    this.#isHeld = false
    if (!this.#isCarrying) this.#carryNext()
  }

  /** Called by the network. */
  attach(peer: SimulatedSocket): void {
    this.#peer = peer
  }

  /** Called by the network. */
  whenGone(callback: () => void): void {
    this.#onGone = callback
  }

  /** Closes this side; the peer does not notice. */
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
    if (!this.#isCarrying) this.#carryNext()
  }

  #carryNext(): void {
    if (this.#isHeld || this.#isClosed || this.#underway.length === 0) return
    this.#isCarrying = true
    this.#clock.setTimer(this.#delayMs(this), () => {
      this.#isCarrying = false
      if (this.#isHeld || this.#isClosed) return
      const piece = this.#underway.shift()!
      this.#peer?.receive(piece)
      if (this.#underway.length > 0) this.#carryNext()
      else if (!this.#isClosed) this.#onDrain()
    })
  }

  /** Called by the peer. */
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
