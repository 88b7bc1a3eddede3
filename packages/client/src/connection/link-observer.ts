import type { Welcome } from '@tenure/protocol'
import type { TenureError } from '../errors.js'
import { throwLater } from '../uncaught.js'

/** Connection events. Every hook is optional; an error it throws becomes an uncaught exception. */
export interface LinkObserver {
  /** A changed `welcome.epoch` means that the coordinator was restarted. */
  connected?(welcome: Welcome, endpoint: string): void
  disconnected?(error: TenureError): void
  attemptFailed?(failure: FailedAttempt): void
}

/** An endpoint was unreachable or rejected the connection. */
export interface FailedAttempt {
  readonly endpoint: string
  readonly error: TenureError
  /** Delay before the next attempt; absent when there is none. */
  readonly retryInMs?: number
}

/** Wraps the hooks, so that an error in one does not disturb the link. */
export function guarded(observer: LinkObserver): LinkObserver {
  return {
    connected: (welcome, endpoint) => guard(() => observer.connected?.(welcome, endpoint)),
    disconnected: (error) => guard(() => observer.disconnected?.(error)),
    attemptFailed: (failure) => guard(() => observer.attemptFailed?.(failure)),
  }
}

function guard(hook: () => void): void {
  try {
    hook()
  } catch (error) {
    throwLater(error)
  }
}
