/** Log sequence number of a record: 1, 2, 3 … Never issued twice. An integer below 2^53. */
export type Lsn = number

/** The largest LSN that the log issues. */
export const lsnMax: Lsn = Number.MAX_SAFE_INTEGER
