/** What the network needs of a clock. */
interface NetworkClock {
  setTimer(delayMs: number, callback: () => void): { cancel(): void }
}

export interface SimulatedNetworkOptions {
  /** How long the next piece of this side travels. Pieces of one direction never overtake each other. */
  readonly delayMs?: (sender: SimulatedSocket) => number
  /** How many bytes the next piece has at most. */
  readonly pieceBytesMax?: () => number
}

/** The two sides of a connection: the one that connected, and the one that was listening. */
export interface SimulatedConnection {
  readonly near: SimulatedSocket
  readonly far: SimulatedSocket
}

/**
 * A network in memory, on a simulated clock: pieces are delayed and cut as told, connections break
 * when told, and whatever was under way then is lost. Fits the `Transport` of servers and clients by
 * its shape.
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

  /** Connections that are open. */
  get size(): number {
    return this.#connections.size
  }

  /** Those that are open, as long as one side takes them to be, oldest first. */
  get connections(): SimulatedConnection[] {
    return [...this.#connections]
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

  /** A connection to whoever listens, from this address; one that closes at once when nobody does. */
  connect(address = 'client'): SimulatedSocket {
    // Each side knows where the other one is.
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

  /** Nobody listens any more, without a word to those who are connected. */
  stopListening(): void {
    this.#onSocket = undefined
  }

  /** Breaks every connection. With `alsoListening` nobody listens any more: the process has died. */
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
  /** On their way to the peer, in their order; `null` is the end. */
  readonly #underway: (Uint8Array | null)[] = []
  /** Has arrived while reading was paused. */
  readonly #arrived: (Uint8Array | null)[] = []
  #isPaused = false
  #isClosed = false
  #hasEnded = false
  #isHeld = false
  /** The first piece is on its way. */
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

  /** Closes when everything written has arrived. */
  end(): void {
    if (this.#isClosed || this.#hasEnded) return
    this.#send(null)
    this.#hasEnded = true
    this.resume()
  }

  /** Closes at once; what is under way is lost. The peer learns of it unless this side is held. */
  destroy(): void {
    const peer = this.#peer
    this.break()
    if (!this.#isHeld) peer?.break()
  }

  /** What this side sends gets no further from here on, and the other one does not notice. */
  hold(): void {
    this.#isHeld = true
  }

  /** What was held goes on its way. */
  release(): void {
    this.#isHeld = false
    if (!this.#isCarrying) this.#carryNext()
  }

  /** For the network. */
  attach(peer: SimulatedSocket): void {
    this.#peer = peer
  }

  /** For the network. */
  whenGone(callback: () => void): void {
    this.#onGone = callback
  }

  /** This side learns that the connection is gone; the other one does not. */
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
