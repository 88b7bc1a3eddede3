import type { CallOptions } from './limit.js'

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
