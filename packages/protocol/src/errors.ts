/** Stable words for what is wrong with what a peer sent; the message beside them may change. */
export type ProtocolErrorCode =
  | 'PROTOCOL_FRAME_TOO_LARGE'
  | 'PROTOCOL_BAD_STRUCTURE'
  | 'PROTOCOL_BAD_MESSAGE'

/** What a peer sent cannot be understood: the connection is to be closed. */
export class ProtocolError extends Error {
  readonly code: ProtocolErrorCode

  constructor(code: ProtocolErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProtocolError'
    this.code = code
  }
}
