import type { Welcome } from '@tenure/protocol'
import type { TenureError } from './errors.js'

/** What a link tells about its connection. Every hook is optional, and none may throw. */
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
