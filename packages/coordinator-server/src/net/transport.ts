/** The seam to the network. It carries bytes and knows nothing about the protocol. */
export interface Transport {
  /** Starts to accept sockets. Each one is paused until `resume`. */
  listen(onSocket: (socket: Socket) => void): Promise<Listener>
}

export interface Listener {
  readonly port: number
  /** Stops accepting. Open sockets stay open. */
  close(): Promise<void>
}

/** One connection. No callback follows `onClose`. */
export interface Socket {
  /** The peer's address, without its port. */
  readonly address: string
  /** Bytes written that have not left the process. */
  readonly unsentBytes: number
  onData(callback: (bytes: Uint8Array) => void): void
  /** Called when a full send buffer has (almost) emptied. */
  onDrain(callback: () => void): void
  /** `failure` describes an error below the protocol, such as a failed TLS handshake. */
  onClose(callback: (failure?: string) => void): void
  write(bytes: Uint8Array): void
  /** Stops delivering data until `resume`, which applies TCP backpressure. */
  pause(): void
  resume(): void
  /** Closes after the written bytes are sent, or after a timeout of a few seconds. */
  end(): void
  /** Closes immediately. */
  destroy(): void
}
