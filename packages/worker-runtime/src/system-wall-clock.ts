/** The machine's own wall clock. What a lease allows is never decided by it. */
export const systemWallClock = (): number => Date.now()
