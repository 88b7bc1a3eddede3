/** The seam to the network. Bytes arrive and leave; what they mean is not for it to know. */
export interface Transport {
  /** A socket is handed over paused: nothing is read from it before `resume`. */
  listen(onSocket: (socket: Socket) => void): Promise<Listener>
}

export interface Listener {
  readonly port: number
  /** Accepts nobody any more. Sockets that are open stay so. */
  close(): Promise<void>
}

/** One connection. After `onClose` has been called nothing else is. */
export interface Socket {
  /** Where the peer is, without its port. */
  readonly address: string
  /** What was written and has not left yet. */
  readonly unsentBytes: number
  onData(callback: (bytes: Uint8Array) => void): void
  /** Much was waiting to leave, and little or nothing is any more. */
  onDrain(callback: () => void): void
  /** With what the peer did wrong, if that was seen below the bytes. */
  onClose(callback: (failure?: string) => void): void
  write(bytes: Uint8Array): void
  /** No more data is given until `resume`; the peer will notice. */
  pause(): void
  resume(): void
  /** Closes when everything written has left, or when the peer does not take it in some seconds. */
  end(): void
  /** Closes at once. */
  destroy(): void
}
