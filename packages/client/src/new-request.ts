import type { Request } from '@tenure/protocol'
import type { CallOptions } from './limit.js'

type WithoutId<R> = R extends Request ? Omit<R, 'id'> : never
/** A request as a caller writes it: the link numbers it. */
export type NewRequest = WithoutId<Request>

export interface RequestOptions extends CallOptions {
  /**
   * Asking twice does nothing twice: after a lost connection the request is sent again. Otherwise
   * it is rejected with `CLIENT_DISCONNECTED`. Default false.
   */
  readonly retry?: boolean
  /** Called whenever the request is sent: a lease that answers it was not granted before. */
  readonly onSent?: () => void
}
