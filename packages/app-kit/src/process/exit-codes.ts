/** The exit codes of every command; a command may add its own. */
export const exitCodes = { done: 0, failed: 1, misconfigured: 2 } as const
