import type { Endpoint } from './endpoint.js'

/** The seam to the network. */
export interface Transport {
  /** Begins to connect. No event may come before this has returned. */
  connect(target: Target, events: SocketEvents): Socket
}

export interface Target extends Endpoint {
  /** Absent: without TLS. */
  readonly tls?: TlsOptions | undefined
}

/** PEM texts. The certificate is always checked, against `ca` or else the authorities Node knows. */
export interface TlsOptions {
  readonly ca?: string | readonly string[] | undefined
  /** A client's certificate and its key, where the coordinator asks for one. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly passphrase?: string | undefined
  /** The name that the certificate must be for, when it is not the endpoint's host. */
  readonly servername?: string | undefined
}

export interface SocketEvents {
  /** Bytes can be written, and over TLS the peer is who it says. */
  opened(): void
  /** The memory of the bytes may be used again when this has returned. */
  received(bytes: Uint8Array): void
  /** What had been held back is written: go on. */
  drained(): void
  /** Comes once, and is the last. */
  closed(error: Error | undefined): void
}

export interface Socket {
  /** False asks to write no more before `drained`; these bytes are taken all the same. */
  write(bytes: Uint8Array): boolean
  /** At once: what has not been written yet is dropped. `closed` follows. */
  close(): void
}
