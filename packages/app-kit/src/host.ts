/** The parts of a process that a command uses; `process` is one. */
export interface Host {
  /** As in Node: the first two are the executable and the script. */
  readonly argv: readonly string[]
  /** A service deletes its secrets from it. */
  readonly env: Record<string, string | undefined>
  readonly stdout: Output
  readonly stderr: Output
  on(signal: StopSignal, listener: () => void): unknown
  exit(code: number): never
}

export interface Output {
  readonly isTTY?: boolean
  /** Size of the terminal. */
  readonly columns?: number
  readonly rows?: number
  readonly fd: number
  write(text: string | Uint8Array): unknown
}

/** SIGHUP: the terminal was closed, and a process without one would go unnoticed. */
export const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

export type StopSignal = (typeof stopSignals)[number]
