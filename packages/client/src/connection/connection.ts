import {
  type Answer,
  ClientConnection,
  type Hello,
  ProtocolError,
  type Welcome,
} from '@tenure/protocol'
import type { Clock, Timer } from '@tenure/seams'
import { protocolError, RejectedError, TenureError } from '../errors.js'
import { formatEndpoint } from './endpoint.js'
import type { Socket, Target, Transport } from './transport.js'

export interface ConnectionSettings {
  readonly transport: Transport
  readonly clock: Clock
  readonly hello: Omit<Hello, 'version'>
  /** Time limit from connecting to the welcome. */
  readonly attemptTimeoutMs: number
  /** Silence after which the peer is probed, and time allowed for its reply. */
  readonly keepAliveMs: number
}

export interface ConnectionListener {
  welcomed(welcome: Welcome): void
  answered(answer: Answer): void
  /** The write buffer has drained, so writing may continue. */
  writable(): void
  /** Returns the frame of a probe request, or `undefined` when no request may be sent. */
  probe(): Uint8Array | undefined
  /** Called exactly once, as the last event. */
  ended(error: TenureError): void
}

/**
 * One connection from connecting to its end:
 *
 *     connecting ──opened──▶ greeting ──welcome──▶ open ──▶ ended
 *          └──────────────────────┴──────────────────────────▲
 *
 * A peer that disappears (pulled cable, frozen machine) does not close the connection. To detect this, the
 * connection sends a probe after `keepAliveMs` of silence, and ends after another `keepAliveMs`.
 */
export class Connection {
  readonly #listener: ConnectionListener
  readonly #settings: ConnectionSettings
  readonly #target: Target
  readonly #protocol = new ClientConnection()
  readonly #socket: Socket
  #mode: 'connecting' | 'greeting' | 'open' | 'ended' = 'connecting'
  #isWritable = false
  #heard = false
  #isProbed = false
  #timer: Timer
  #onClosed: (() => void) | undefined
  /** Resolves when the socket is also closed. */
  readonly closed = new Promise<void>((resolve) => {
    this.#onClosed = resolve
  })

  constructor(target: Target, settings: ConnectionSettings, listener: ConnectionListener) {
    this.#listener = listener
    this.#settings = settings
    this.#target = target
    const { transport, clock, attemptTimeoutMs } = settings
    this.#socket = transport.connect(target, {
      opened: () => this.#onOpened(),
      received: (bytes) => this.#onReceived(bytes),
      drained: () => this.#onDrained(),
      closed: (error) => {
        this.end(new TenureError('CLIENT_DISCONNECTED', this.#describeLoss(error), causedBy(error)))
        this.#onClosed?.()
      },
    })
    this.#timer = clock.setTimer(attemptTimeoutMs, () => {
      const said =
        this.#mode === 'greeting' ? 'it accepted the connection but sent nothing' : this.#mode
      const message = `no welcome from ${formatEndpoint(target)} within ${attemptTimeoutMs} ms (${said})`
      this.end(new TenureError('CLIENT_DISCONNECTED', message))
    })
  }

  /** Whether requests may be written now. */
  get isWritable(): boolean {
    return this.#mode === 'open' && this.#isWritable
  }

  write(frame: Uint8Array): void {
    this.#isWritable = this.#socket.write(frame)
  }

  end(error: TenureError): void {
    if (this.#mode === 'ended') return
    this.#mode = 'ended'
    this.#timer.cancel()
    this.#socket.close()
    this.#listener.ended(error)
  }

  #onOpened(): void {
    if (this.#mode !== 'connecting') return
    this.#mode = 'greeting'
    this.#socket.write(ClientConnection.hello(this.#settings.hello))
  }

  #onReceived(bytes: Uint8Array): void {
    if (this.#mode === 'ended') return
    this.#heard = true
    this.#protocol.push(bytes)
    try {
      while (this.#takeReply());
      this.#protocol.keep()
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      const peer = formatEndpoint(this.#target)
      const message = `${peer} sent invalid data: ${error.message}`
      this.end(protocolError(message, { cause: error }))
    }
  }

  /** Returns whether another reply may follow. */
  #takeReply(): boolean {
    const reply = this.#protocol.next()
    if (reply === undefined) return false
    switch (reply.kind) {
      case 'refused':
        this.end(new RejectedError(reply.refusal))
        break
      case 'welcome':
        this.#onWelcome(reply.welcome)
        break
      case 'answer':
        this.#onAnswer(reply.answer)
    }
    // The listener may have ended the connection.
    return (this.#mode as string) !== 'ended'
  }

  #onWelcome(welcome: Welcome): void {
    this.#mode = 'open'
    this.#isWritable = true
    this.#timer.cancel()
    this.#watchForSilence()
    this.#listener.welcomed(welcome)
  }

  #onAnswer(answer: Answer): void {
    if (answer.id !== 0) {
      this.#listener.answered(answer)
    } else if (answer.kind === 'rejected') {
      this.end(new RejectedError(answer))
    } else {
      const peer = formatEndpoint(this.#target)
      const message = `${peer} sent ${answer.kind} with the id 0; only a rejection may have this id`
      this.end(protocolError(message))
    }
  }

  #onDrained(): void {
    if (this.#mode !== 'open') return
    this.#isWritable = true
    this.#listener.writable()
  }

  #describeLoss(error: Error | undefined): string {
    const { tls } = this.#target
    const peer = formatEndpoint(this.#target)
    if (error === undefined && this.#mode === 'greeting') {
      const guess = tls === undefined ? 'does it require TLS, or ' : ''
      return `${peer} closed the connection during the handshake; ${guess}is it not a coordinator?`
    }
    if (error === undefined) return 'the peer closed the connection'
    if (this.#mode !== 'connecting') return `connection lost: ${error.message}`
    const code = 'code' in error ? String(error.code) : ''
    const hint = tls && errorsWithoutTls.has(code) ? `; does ${peer} use TLS?` : ''
    return `cannot connect: ${error.message.trim()}${hint}`
  }

  #watchForSilence(): void {
    const { clock, keepAliveMs } = this.#settings
    this.#heard = false
    this.#timer = clock.setTimer(keepAliveMs, () => {
      if (this.#heard) this.#isProbed = false
      else if (this.#isProbed) {
        const message = `no data from the peer for ${2 * keepAliveMs} ms`
        this.end(new TenureError('CLIENT_DISCONNECTED', message))
        return
      } else this.#probe()
      this.#watchForSilence()
    })
  }

  /** If no probe may be sent, requests are in flight, and their answers show that the peer is alive. */
  #probe(): void {
    this.#isProbed = true
    const frame = this.#listener.probe()
    if (frame !== undefined) this.write(frame)
  }
}

/** Errors of a TLS handshake with a peer that does not use TLS. */
const errorsWithoutTls = new Set(['ECONNRESET', 'ERR_SSL_WRONG_VERSION_NUMBER'])

function causedBy(error: Error | undefined): ErrorOptions {
  return error === undefined ? {} : { cause: error }
}
