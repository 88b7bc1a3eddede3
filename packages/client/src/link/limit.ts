import type { Clock, Timer } from '@tenure/seams'
import { check } from '../errors.js'
import type { Aborts } from './aborts.js'

/** How long a call may take, and what ends it before. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** `Infinity` sets no limit. */
  readonly timeoutMs?: number | undefined
}

/** Refuses what is no option of the call, and what can be neither a signal nor a time limit. */
export function checkCallOptions(options: CallOptions, ownNames: readonly string[] = []): void {
  check.names('options', options, ['signal', 'timeoutMs', ...ownNames])
  checkLimit(options)
}

export function checkLimit({ signal, timeoutMs }: CallOptions): void {
  if (timeoutMs !== undefined) check.duration('timeoutMs', timeoutMs)
  if (signal !== undefined) checkSignal(signal)
}

/** A controller in place of its signal, most often. */
function checkSignal(value: unknown): void {
  const { aborted, addEventListener } = (value ?? {}) as Partial<AbortSignal>
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return
  throw check.refusal('signal', 'something else', 'an AbortSignal')
}

/** Watches over one call: calls back once, when its time is over or its signal aborts. */
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

  /** The call has ended by itself. */
  release(): void {
    this.#timer?.cancel()
    this.#forgetSignal?.()
  }
}

export interface RequestOptions extends CallOptions {
  /**
   * Asking twice does nothing twice: after a lost connection the request is sent again. Otherwise
   * it is rejected with `CLIENT_DISCONNECTED`. Default false.
   */
  readonly retry?: boolean
  /** The same request was sent by an earlier call, and what became of it is not known. Default false. */
  readonly wasSent?: boolean
  /**
   * Asked whenever the request is about to be sent; `false` gives it up instead. So what must not be
   * sent after some moment is not, however long there was no connection. To throw is to say no.
   */
  readonly maySend?: () => boolean
  /** Called whenever the request is sent, with its number: what answers it was not decided before. */
  readonly onSent?: (id: number) => void
}
