import type { Endpoint } from './endpoint.js'

/** The seam to the network. */
export interface Transport {
  /** Starts connecting. Must return before it emits any event. */
  connect(target: Target, events: SocketEvents): Socket
}

export interface Target extends Endpoint {
  /** Absent for a connection without TLS. */
  readonly tls?: TlsOptions | undefined
}

/** PEM texts. The peer's certificate is always verified, with `ca` or Node's default CAs. */
export interface TlsOptions {
  readonly ca?: string | readonly string[] | undefined
  /** The client certificate, if the coordinator requires one. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly passphrase?: string | undefined
  /** The expected name in the certificate, if it differs from the endpoint's host. */
  readonly servername?: string | undefined
}

export interface SocketEvents {
  /** Connected; with TLS, the peer's certificate is verified. */
  opened(): void
  /** The buffer may be reused after this returns. */
  received(bytes: Uint8Array): void
  /** The write buffer has drained, so writing may continue. */
  drained(): void
  /** Called exactly once, as the last event. */
  closed(error: Error | undefined): void
}

export interface Socket {
  /** Returns false to ask for a pause until `drained`; these bytes are still accepted. */
  write(bytes: Uint8Array): boolean
  /** Closes immediately and drops unsent bytes. `closed` follows. */
  close(): void
}
