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
  /**
   * Asked whenever the request is about to be sent; `false` gives it up instead. So what must not be
   * sent after some moment is not, however long there was no connection.
   */
  readonly maySend?: () => boolean
  /** Called whenever the request is sent, with its number: what answers it was not decided before. */
  readonly onSent?: (id: number) => void
}
