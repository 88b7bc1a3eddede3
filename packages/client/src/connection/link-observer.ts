import type { Welcome } from '@tenure/protocol'
import type { TenureError } from '../errors.js'
import { throwLater } from '../uncaught.js'

/** What a link tells about its connection. Every hook is optional. What one throws is an uncaught exception. */
export interface LinkObserver {
  /** Another `welcome.epoch` than before means that the coordinator was restarted. */
  connected?(welcome: Welcome, endpoint: string): void
  disconnected?(error: TenureError): void
  attemptFailed?(failure: FailedAttempt): void
}

/** An endpoint could not be reached, or did not let us in. */
export interface FailedAttempt {
  readonly endpoint: string
  readonly error: TenureError
  /** When the next endpoint is tried; absent where nothing more is tried. */
  readonly retryInMs?: number
}

/** The same hooks; one that throws breaks nothing of what it is told about. */
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
