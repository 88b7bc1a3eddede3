/** The process, as far as a command needs one: `process` itself will do. */
export interface Host {
  /** As Node has it: the first two say what runs. */
  readonly argv: readonly string[]
  /** A service takes its secrets out of it. */
  readonly env: Record<string, string | undefined>
  readonly stdout: Output
  readonly stderr: Output
  on(signal: StopSignal, listener: () => void): unknown
  exit(code: number): never
}

export interface Output {
  readonly isTTY?: boolean
  /** Of a terminal. */
  readonly columns?: number
  readonly rows?: number
  readonly fd: number
  write(text: string | Uint8Array): unknown
}

/** The last one says that the terminal is gone: what was started in it is not to go on unseen. */
export const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

export type StopSignal = (typeof stopSignals)[number]
