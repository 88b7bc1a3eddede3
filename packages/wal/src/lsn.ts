/** A record's number in the log: 1, 2, 3 … and never issued twice. An integer below 2^53. */
export type Lsn = number

/** The largest number the log will ever give out. */
export const lsnMax: Lsn = Number.MAX_SAFE_INTEGER
