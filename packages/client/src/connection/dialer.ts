import type { Answer, Welcome } from '@tenure/protocol'
import type { Random, Timer } from '@tenure/seams'
import { finalReasons, RejectedError, TenureError } from '../errors.js'
import { Connection, type ConnectionSettings } from './connection.js'
import { type Endpoint, formatEndpoint } from './endpoint.js'
import { EndpointOrder } from './endpoint-order.js'
import type { FailedAttempt } from './link-observer.js'
import type { Target, TlsOptions } from './transport.js'

export interface DialerSettings extends ConnectionSettings {
  readonly endpoints: readonly Endpoint[]
  readonly tls: TlsOptions | undefined
  readonly backoff: Backoff
  readonly random: Random
}

export interface DialerListener {
  connected(welcome: Welcome, endpoint: string): void
  answered(answer: Answer): void
  writable(): void
  probe(): Uint8Array | undefined
  /** An established connection was lost; the dialer will reconnect. */
  disconnected(error: TenureError): void
  attemptFailed(failure: FailedAttempt): void
  /** Connecting failed permanently; the dialer stops until `start`, or for good after `CLIENT_OTHER_LOG`. */
  refused(error: TenureError): void
}

/**
 * Keeps one connection to one of the endpoints:
 *
 *     idle ──start──▶ dialing ──welcome──▶ open ──loss──▶ waiting ──▶ dialing
 *      ▲                │ └─each endpoint failed─▶ waiting ──▶ dialing
 *      └──refused───────┤
 *                       └──another log──▶ stopped
 *
 * Endpoints are tried in turn without a delay; the dialer backs off after each round. The backoff and the
 * redirects are only reset by the first answer, so a coordinator that crashes or steps down right after its
 * welcome is not flooded.
 */
export class Dialer {
  readonly #settings: DialerSettings
  readonly #listener: DialerListener
  #mode: 'idle' | 'dialing' | 'open' | 'waiting' | 'stopped' = 'idle'
  #connection: Connection | undefined
  #timer: Timer | undefined
  readonly #order: EndpointOrder
  #round = 0
  /** Whether the open connection has brought an answer. */
  #isProven = false
  /** The log of the first coordinator. */
  #log: string | undefined
  #lastError: TenureError | undefined

  constructor(settings: DialerSettings, listener: DialerListener) {
    this.#settings = settings
    this.#listener = listener
    this.#order = new EndpointOrder(settings.endpoints)
  }

  /** The connection, if it is open. */
  get open(): Connection | undefined {
    return this.#mode === 'open' ? this.#connection : undefined
  }

  /** Why there is no connection. */
  get lastError(): TenureError | undefined {
    return this.#lastError
  }

  start(): void {
    if (this.#mode === 'idle') this.#dial()
  }

  async stop(error: TenureError): Promise<void> {
    this.#mode = 'stopped'
    this.#timer?.cancel()
    this.#connection?.end(error)
    await this.#connection?.closed
  }

  #dial(): void {
    const endpoint = this.#order.current
    this.#mode = 'dialing'
    const target = { ...endpoint, tls: this.#settings.tls }
    try {
      this.#connection = this.#connect(target, formatEndpoint(endpoint))
    } catch (cause) {
      this.#onEnded(failedToStart(target, cause), formatEndpoint(endpoint))
    }
  }

  #connect(target: Target, endpoint: string): Connection {
    return new Connection(target, this.#settings, {
      welcomed: (welcome) => {
        if (!this.#admit(welcome, endpoint)) return
        this.#mode = 'open'
        this.#isProven = false
        this.#listener.connected(welcome, endpoint)
      },
      answered: (answer) => {
        if (!this.#isProven) this.#prove()
        this.#listener.answered(answer)
      },
      writable: () => this.#listener.writable(),
      probe: () => this.#listener.probe(),
      ended: (error) => this.#onEnded(error, endpoint),
    })
  }

  /** Another log holds other tasks under the same ids, so its coordinator must get no request. */
  #admit({ log }: Welcome, endpoint: string): boolean {
    this.#log ??= log
    if (log === this.#log) return true
    const message = `${endpoint} serves the log ${log}, but this client was connected to the log ${this.#log}; use endpoints of one log only, or a new client`
    this.#connection?.end(new TenureError('CLIENT_OTHER_LOG', message))
    return false
  }

  #prove(): void {
    this.#isProven = true
    this.#round = 0
    this.#order.startRound()
  }

  #onEnded(error: TenureError, endpoint: string): void {
    this.#lastError = error
    if (this.#mode === 'open') {
      this.#onLost(error)
    } else if (this.#mode === 'dialing') {
      this.#onAttemptFailed(error, endpoint)
    }
  }

  #onLost(error: TenureError): void {
    if (this.#order.follow(activeIn(error))) this.#dialLater(0)
    else {
      // A connection without any answer counts as a failed attempt.
      if (this.#round > 0) this.#order.skip()
      this.#order.startRound()
      this.#dialLater(this.#nextPause())
    }
    this.#listener.disconnected(error)
  }

  #onAttemptFailed(error: TenureError, endpoint: string): void {
    if (isFinal(error)) {
      this.#mode = error.code === 'CLIENT_OTHER_LOG' ? 'stopped' : 'idle'
      this.#listener.attemptFailed({ endpoint, error })
      this.#listener.refused(error)
      return
    }
    const retryInMs = this.#order.next(activeIn(error)) ? 0 : this.#nextPause()
    this.#dialLater(retryInMs)
    this.#listener.attemptFailed({ endpoint, error, retryInMs })
  }

  #nextPause(): number {
    const { backoff, random } = this.#settings
    return backoffMs(backoff, this.#round++, random.next())
  }

  /** Uses a timer even for 0 ms, so that listeners see the end before the next attempt starts. */
  #dialLater(pauseMs: number): void {
    this.#mode = 'waiting'
    this.#timer = this.#settings.clock.setTimer(pauseMs, () => this.#dial())
  }
}

function isFinal(error: TenureError): boolean {
  if (error instanceof RejectedError) return finalReasons.includes(error.reason)
  return error.code === 'CLIENT_BAD_ARGUMENT' || error.code === 'CLIENT_OTHER_LOG'
}

/** The address of the active coordinator, if a standby named it. */
function activeIn(error: TenureError): string | undefined {
  return error instanceof RejectedError && error.reason === 'NOT_ACTIVE' ? error.active : undefined
}

/** The transport failed before connecting, for example because of an invalid key or certificate. */
function failedToStart({ tls, ...endpoint }: Target, cause: unknown): TenureError {
  const why = cause instanceof Error ? cause.message : String(cause)
  if (tls !== undefined) {
    const message = `options.tls is invalid (${why}); it must contain matching PEM texts, and the passphrase if the key is encrypted`
    return new TenureError('CLIENT_BAD_ARGUMENT', message, { cause })
  }
  const message = `cannot connect to ${formatEndpoint(endpoint)}: ${why}`
  return new TenureError('CLIENT_DISCONNECTED', message, { cause })
}

/** Delays between rounds of connection attempts. */
export interface Backoff {
  readonly initialMs: number
  readonly maxMs: number
}

/**
 * The delay before a round (the first is 0): doubles up to the maximum, with 50 % jitter, so that the clients
 * of a restarted coordinator do not all reconnect at the same time.
 */
export function backoffMs({ initialMs, maxMs }: Backoff, round: number, chance: number): number {
  const full = Math.min(maxMs, initialMs * 2 ** Math.min(round, 50))
  return (full / 2) * (1 + chance)
}
