import { describe } from '@tenure/options'
import type { Clock, Timer } from '@tenure/seams'
import { check } from '../errors.js'
import type { Aborts } from './aborts.js'

/** The timeout of a call, and a signal to abort it. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** `Infinity` disables the timeout. */
  readonly timeoutMs?: number | undefined
}

/** Rejects unknown options, and invalid signals and timeouts. */
export function checkCallOptions(options: CallOptions, ownNames: readonly string[] = []): void {
  check.names('options', options, ['signal', 'timeoutMs', ...ownNames])
  checkLimit(options)
}

export function checkLimit({ signal, timeoutMs }: CallOptions): void {
  if (timeoutMs !== undefined) check.duration('timeoutMs', timeoutMs)
  if (signal !== undefined) checkSignal(signal)
}

/** Catches an AbortController that is passed instead of its signal. */
function checkSignal(value: unknown): void {
  const { aborted, addEventListener } = (value ?? {}) as Partial<AbortSignal>
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return
  throw check.refusal('signal', describe(value), 'an AbortSignal')
}

/** Calls back once, on timeout or when the signal aborts. */
export class Limit {
  readonly #timer: Timer | undefined
  readonly #forgetSignal: (() => void) | undefined

  constructor(
    clock: Clock,
    aborts: Aborts,
    { signal, timeoutMs = Number.POSITIVE_INFINITY }: CallOptions,
    onEnd: (why: 'aborted' | 'timeout') => void,
  ) {
    const end = (why: 'aborted' | 'timeout') => {
      this.release()
      onEnd(why)
    }
    if (timeoutMs !== Number.POSITIVE_INFINITY) {
      this.#timer = clock.setTimer(timeoutMs, () => end('timeout'))
    }
    if (signal !== undefined) this.#forgetSignal = aborts.on(signal, () => end('aborted'))
  }

  /** Stops watching, because the call has ended. */
  release(): void {
    this.#timer?.cancel()
    this.#forgetSignal?.()
  }
}

export interface RequestOptions extends CallOptions {
  /**
   * Whether the request is idempotent. If so, it is sent again after a lost connection; otherwise it fails with
   * `CLIENT_DISCONNECTED`. Default false.
   */
  readonly retry?: boolean
  /** An earlier call sent the same request with an unknown outcome. Default false. */
  readonly wasSent?: boolean
  /**
   * Called each time before the request is sent; `false` or an exception cancels it. This keeps a request
   * from being sent too late, for example after a long reconnect.
   */
  readonly maySend?: () => boolean
  /** Called each time the request is sent, with its id. The answer is decided after this. */
  readonly onSent?: (id: number) => void
}
