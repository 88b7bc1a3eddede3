/** Stable codes for invalid input from a peer. The messages may change. */
export type ProtocolErrorCode =
  | 'PROTOCOL_FRAME_TOO_LARGE'
  | 'PROTOCOL_BAD_STRUCTURE'
  | 'PROTOCOL_BAD_MESSAGE'

/** A peer sent invalid data; close the connection. */
export class ProtocolError extends Error {
  readonly code: ProtocolErrorCode

  constructor(code: ProtocolErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProtocolError'
    this.code = code
  }
}
